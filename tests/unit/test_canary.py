"""Which owners take the durable path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.decide import MAX_ENVELOPE_BYTES, Decision, decide
from dispatch.switch import OFF, ON, Switch

OWNERS = [f"owner-{number}" for number in range(2_000)]


def covered(switch: Switch) -> set[str]:
    return {owner for owner in OWNERS if switch.covers(owner)}


def test_a_percentage_is_about_that_share_of_the_owners() -> None:
    """REQ-F3"""
    shares = {percent: len(covered(Switch(percent=percent))) / len(OWNERS) for percent in (0, 10, 50, 100)}

    assert shares == pytest.approx({0: 0.0, 10: 0.1, 50: 0.5, 100: 1.0}, abs=0.02)


@given(st.integers(0, 100), st.integers(0, 100))
def test_whoever_is_in_stays_in_when_the_share_grows(one: int, other: int) -> None:
    fewer, more = sorted((one, other))

    assert covered(Switch(percent=fewer)) <= covered(Switch(percent=more))


def test_an_owner_keeps_the_place_in_every_process_and_release() -> None:
    """Python's own hash differs from process to process: this one is written down."""
    first = {owner: min(p for p in range(101) if Switch(percent=p).covers(owner)) for owner in ("ada", "grace", "")}

    assert first == {"ada": 99, "grace": 92, "": 53}


def test_named_owners_are_in_at_any_percentage() -> None:
    """REQ-F3"""
    assert covered(Switch(percent=0, allow=frozenset({"owner-1", "owner-7"}))) == {"owner-1", "owner-7"}


@pytest.mark.parametrize(
    ("switch", "breaker_open", "envelope_bytes", "decision"),
    [
        (ON, False, 100, Decision(transport="workflow", reason="chosen")),
        (OFF, False, 100, Decision(transport="inline", reason="switched_off")),
        (Switch(percent=0, allow=frozenset({"ada"})), False, 100, Decision(transport="inline", reason="not_in_canary")),
        (ON, True, 100, Decision(transport="inline", reason="breaker_open")),
        (ON, False, MAX_ENVELOPE_BYTES, Decision(transport="workflow", reason="chosen")),
        (ON, False, MAX_ENVELOPE_BYTES + 1, Decision(transport="inline", reason="envelope_too_large")),
        (OFF, True, MAX_ENVELOPE_BYTES + 1, Decision(transport="inline", reason="switched_off")),
    ],
)
def test_the_decision_and_its_reason(
    switch: Switch, *, breaker_open: bool, envelope_bytes: int, decision: Decision
) -> None:
    """REQ-F1 REQ-C8"""
    assert decide("grace", switch=switch, breaker_open=breaker_open, envelope_bytes=envelope_bytes) == decision
