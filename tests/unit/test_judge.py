"""What is to become of a run without a lease, for all that can be seen of it."""

from dataclasses import replace
from itertools import product

import pytest

from checkpoints.port import Order, RunView
from dispatch.judge import Seen, Verdict, judge

DURABLE = RunView(
    state="running",
    mode="workflow",
    status="",
    attempt=1,
    next=5,
    stop=False,
    lease_ms=0,
    deaths=1,
    order=Order(1, 1, 1),
)
FRESH = replace(DURABLE, state="open", mode="", attempt=0, next=0, deaths=0, order=Order(0, 0, 0))
INLINE = replace(DURABLE, mode="inline")
LEAVE, ADOPT, HERE, EXPIRE = Verdict


LEAVING = Seen(
    view=DURABLE, workflow_open=True, due=False, handed_over=False, waited=False, overdue=False, switched_off=False
)


def verdict(view: RunView, *, workflow: bool | None = True, **seen: bool) -> Verdict:
    return judge(replace(LEAVING, view=view, workflow_open=workflow, **seen))


@pytest.mark.parametrize("view", [FRESH, DURABLE, replace(DURABLE, state="sealed")])
def test_a_run_whose_workflow_is_closed_is_adopted(view: RunView) -> None:
    """C7 C8 FR49 LAW-P1: terminated, cancelled, timed out, or unknown to the server."""
    assert {verdict(view, workflow=False, waited=waited) for waited in (False, True)} == {ADOPT}


def test_queued_and_between_slices_is_no_orphan() -> None:
    """C7 FR14"""
    assert {verdict(FRESH, waited=waited) for waited in (False, True)} == {LEAVE}
    assert {verdict(DURABLE, handed_over=True, waited=waited) for waited in (False, True)} == {LEAVE}


def test_a_dead_executor_is_replaced_by_temporal_or_after_a_while_here() -> None:
    """FR16 LAW-P1: nobody is there to try again where all workers are gone."""
    assert [verdict(DURABLE, waited=waited) for waited in (False, True)] == [LEAVE, HERE]


def test_an_inline_run_without_its_process_is_adopted_at_once() -> None:
    """C22 FR16"""
    assert {verdict(INLINE, workflow=workflow) for workflow in (True, False, None)} == {ADOPT}


def test_while_the_server_says_nothing_the_claim_decides() -> None:
    """C11 C25: a run that nobody was asked to execute, and one whose server is gone with its worker."""
    assert verdict(FRESH, workflow=None) is ADOPT
    assert [verdict(DURABLE, workflow=None, waited=waited) for waited in (False, True)] == [LEAVE, HERE]
    assert verdict(DURABLE, workflow=None, handed_over=True, waited=True) is HERE


def test_a_parked_run_is_left_alone_until_something_is_due() -> None:
    """C7 LAW-P8: whoever waits for a person has no executor, and needs none, however long that takes."""
    for parked, workflow in product((replace(DURABLE, state="parked"), replace(INLINE, state="parked")), (True, None)):
        assert verdict(parked, workflow=workflow, handed_over=True, waited=True, overdue=True) is LEAVE
        assert verdict(parked, workflow=workflow, due=True) is ADOPT
        assert verdict(replace(parked, stop=True), workflow=workflow) is HERE
    assert verdict(replace(DURABLE, state="parked"), workflow=False) is ADOPT
    assert verdict(replace(INLINE, state="parked"), workflow=False) is LEAVE


def test_a_recorded_stop_waits_for_nobody() -> None:
    """C7 C18 FR22"""
    for view, workflow, handed_over in product((FRESH, DURABLE, INLINE), (True, False, None), (True, False)):
        assert verdict(replace(view, stop=True), workflow=workflow, handed_over=handed_over) is HERE


def test_an_overdue_run_ends() -> None:
    """C7: queued for longer than it may take, with nobody coming for it; never on a first look."""
    for view in (FRESH, DURABLE):
        seen = [verdict(view, handed_over=True, waited=waited, overdue=True) for waited in (False, True)]
        assert seen == [LEAVE, EXPIRE]


def test_a_run_that_waits_for_somebody_is_left_alone() -> None:
    """C7: a state in which nobody should be at work, on either transport; unless its workflow is gone."""
    durable, inline = replace(DURABLE, state="parked"), replace(INLINE, state="parked")
    for workflow, waited, overdue in product((True, None), (True, False), (True, False)):
        assert verdict(durable, workflow=workflow, waited=waited, overdue=overdue) is LEAVE
        assert verdict(inline, workflow=workflow, waited=waited, overdue=overdue) is LEAVE
    assert [verdict(durable, workflow=False), verdict(inline, workflow=False)] == [ADOPT, LEAVE]


def test_a_queued_run_follows_the_switch_and_a_claimed_one_keeps_its_mode() -> None:
    """C22: workers that are broken are switched off, and what waits for them must not wait for ever."""
    off = {"switched_off": True, "handed_over": True}
    assert [verdict(FRESH, waited=waited, switched_off=True) for waited in (False, True)] == [LEAVE, HERE]
    assert [verdict(DURABLE, waited=waited, **off) for waited in (False, True)] == [LEAVE, LEAVE]
