"""What the workflow makes of what its slices answer."""

import asyncio
from dataclasses import dataclass, field

import pytest
from temporalio.client import Client

from protocol.errors import StoreUnavailable, TurnkeepError
from protocol.turn import ChatTurnInput, SliceResult
from records.records import Records
from runner.port import Job
from tests.rig import Rig
from tests.workflow.durable import Answering, chain, event_types, start, working
from workflows.chat_turn import ChatTurn

ENDED = SliceResult(outcome="ended", status="completed", steps=1, frames=9)
HANDED_OVER = SliceResult(outcome="handed_over", reason="budget")


async def play(client: Client, run_id: str, runner: Answering, **turn: int) -> tuple[SliceResult, list[str]]:
    """The workflow's result over the answers, and its last history."""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        async with working(client, run_id, rig, runner):
            handle = await start(client, ChatTurnInput(run_id=run_id, **turn))
            result = await handle.result()
    return result, await event_types(client.get_workflow_handle(run_id))


async def test_a_short_turn_is_one_slice_and_nothing_else(client: Client, run_id: str) -> None:
    """REQ-D3"""
    runner = Answering(answers=[ENDED])
    result, history = await play(client, run_id, runner)

    assert (result, runner.orders) == (ENDED, [(1, 1, 1)])
    assert [name for name in history if name.startswith(("ACTIVITY", "TIMER", "WORKFLOW_EXECUTION"))] == [
        "WORKFLOW_EXECUTION_STARTED",
        "ACTIVITY_TASK_SCHEDULED",
        "ACTIVITY_TASK_STARTED",
        "ACTIVITY_TASK_COMPLETED",
        "WORKFLOW_EXECUTION_COMPLETED",
    ]


async def test_a_slice_that_hands_over_is_followed_by_the_next(client: Client, run_id: str) -> None:
    """REQ-D1 C4: the order grows with the slice, whatever the attempt."""
    runner = Answering(answers=[HANDED_OVER, HANDED_OVER, ENDED])
    result, _ = await play(client, run_id, runner, slice_ms=1_000)

    assert (result, runner.orders) == (ENDED, [(1, 1, 1), (1, 2, 1), (1, 3, 1)])
    assert {(job.mode, job.slice_ms) for job in runner.jobs} == {("workflow", 1_000)}


async def test_a_busy_run_is_waited_for_and_tried_again_above_all_attempts_of_the_slice(
    client: Client, run_id: str
) -> None:
    """C4 C8"""
    runner = Answering(answers=[SliceResult(outcome="busy", wait_ms=1), ENDED])
    result, history = await play(client, run_id, runner)

    assert (result, runner.orders) == (ENDED, [(1, 1, 1), (1, 2, 1)])
    assert [name for name in history if name.startswith("TIMER")] == ["TIMER_STARTED", "TIMER_FIRED"]


@pytest.mark.parametrize("outcome", ["stale", "missing"])
async def test_a_run_that_is_another_s_or_gone_ends_the_workflow(client: Client, run_id: str, outcome: str) -> None:
    """C5 C8: a later generation has it, or there is nothing to have."""
    answer = SliceResult.model_validate({"outcome": outcome})
    result, _ = await play(client, run_id, Answering(answers=[answer]))

    assert result == answer


async def test_an_exhausted_run_is_settled_above_the_order_of_its_slice(client: Client, run_id: str) -> None:
    """C16 REQ-D8 LAW-P1"""
    runner = Answering(answers=[HANDED_OVER, SliceResult(outcome="exhausted")])
    result, _ = await play(client, run_id, runner)

    assert result == runner.failing[0]
    assert [(order.key, kind) for order, kind in runner.failed] == [((1, 3, 1), "interrupted")]


async def test_a_failure_that_no_other_attempt_can_mend_settles_the_run(client: Client, run_id: str) -> None:
    """REQ-D8"""
    runner = Answering(answers=[TurnkeepError("not_configured", "There is no such assistant.")])
    result, _ = await play(client, run_id, runner)

    assert (result, [kind for _, kind in runner.failed]) == (runner.failing[0], ["not_configured"])


async def test_settling_is_tried_until_it_succeeds(client: Client, run_id: str) -> None:
    """LAW-P1: also when another executor still holds the run, or the store is away, or we are wrong."""
    again: list[SliceResult | Exception] = [
        StoreUnavailable(),
        TurnkeepError("invalid", "No."),
        ValueError("No."),
        SliceResult(outcome="busy", wait_ms=1),
    ]
    runner = Answering(answers=[SliceResult(outcome="exhausted")], failing=[*again, ENDED])
    result, _ = await play(client, run_id, runner)

    assert (result, [order.attempt for order, _ in runner.failed]) == (ENDED, [1, 2, 3, 4, 1])


async def test_every_other_failure_is_another_attempt_of_the_same_slice(client: Client, run_id: str) -> None:
    """REQ-C12: the server retries by itself, at once and without end."""
    runner = Answering(answers=[StoreUnavailable(), KeyError("a fault of ours"), ENDED])
    result, history = await play(client, run_id, runner)

    assert (result, runner.orders) == (ENDED, [(1, 1, 1), (1, 1, 2), (1, 1, 3)])
    assert history.count("ACTIVITY_TASK_SCHEDULED") == 1


async def test_a_long_history_continues_as_new_at_the_next_slice(client: Client, run_id: str) -> None:
    """FR49 REQ-C12: the slices go on counting, and the workflow is found under the same id."""
    runner = Answering(answers=[HANDED_OVER] * 4 + [ENDED])
    result, history = await play(client, run_id, runner, max_slices=2)

    assert (result, [slice_ for _, slice_, _ in runner.orders]) == (ENDED, [1, 2, 3, 4, 5])
    assert history.count("ACTIVITY_TASK_SCHEDULED") == 1


@dataclass(kw_only=True)
class Halting(Answering):
    """Halts in its first slice."""

    halted: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, job: Job, drain: asyncio.Event) -> SliceResult:
        self.halted.set()
        await self.go_on.wait()
        return await super().run(job, drain)


async def test_a_wake_up_outlives_the_history_it_came_in(client: Client, run_id: str) -> None:
    """C12 FR22: nothing waited for it there; the first wait afterwards finds it and does not wait."""
    runner = Halting(answers=[HANDED_OVER, SliceResult(outcome="busy", wait_ms=5_000), ENDED])
    async with await Records.in_memory() as records, working(client, run_id, Rig(records=records), runner):
        handle = await start(client, ChatTurnInput(run_id=run_id, max_slices=1))
        await runner.halted.wait()
        await handle.signal(ChatTurn.input)
        runner.go_on.set()
        await handle.result()

    histories = await chain(client, handle)
    assert [[name for name in history if name.startswith("TIMER")] for history in histories] == [[], [], []]
