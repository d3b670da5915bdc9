"""A run ends whatever is away or unreadable at its end, and its conversation takes the next message."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from checkpoints.memory import MemoryRunStore
from checkpoints.port import Append, Claimed, ClaimRequest, Order
from engine.fold import fold
from protocol.checkpoint import Message, Seal
from protocol.errors import LostClaim
from protocol.turn import SliceResult
from records.values import Busy, Key, Span, TurnBegin
from runner.parts import RunnerSettings
from runner.port import Job
from tests.away import AwayRecords, records_of
from tests.rig import RUN_ID, Rig, StillClock
from tests.workflow.durable import script_of

SCRIPT = script_of(2)
TALK = Key(owner="ada", conversation_id="talk")


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with await AwayRecords.in_memory() as records:
        clock = StillClock()
        settings = RunnerSettings(lease_ms=60_000, renew_ms=20_000, records_patience_ms=0)
        yield Rig(records=records, clock=clock, store=MemoryRunStore(clock), settings=settings)


async def free(rig: Rig) -> bool:
    """Whether the conversation takes the next message."""
    begun = await rig.records.begin(
        TurnBegin(
            key=TALK,
            run_id="00000000-0000-4000-8000-000000000002",
            assistant="bench",
            user_message_id="u2",
            message_id="m2",
            parts=({"type": "text", "text": "next"},),
            now_ms=rig.clock.now_ms(),
        )
    )
    return not isinstance(begun, Busy)


async def end_of(rig: Rig) -> tuple[list[str], bool]:
    """How the log ends, and whether the stored answer is its fold (LAW-P1, LAW-P2)."""
    frames = await rig.frames()
    message = Message(id="")
    for frame in frames:
        message = fold(message, frame)
    stored = await rig.records.messages(TALK, Span())
    answers = [one.parts for one in stored or () if one.role == "assistant"]
    kinds = [frame["type"] for frame in frames]
    return kinds[kinds.index("data-usage") - 2 :], answers == [message.parts]


def go_away_at_the_seal(rig: Rig, *, dying: bool = False) -> Callable[[str], Awaitable[None]]:
    """A fault: the records go when the outcome is decided, and perhaps the executor once the outbox has it."""

    async def fault(point: str) -> None:
        if point == "sealed":
            records_of(rig).away = True
        if point == "kept" and dying:
            raise LostClaim

    return fault


async def test_an_answer_the_records_cannot_take_waits_in_the_outbox(rig: Rig) -> None:
    """C24: the reader is told that it is not stored, and its conversation is freed with the commit."""
    await rig.begin(SCRIPT.input)
    rig.fault = go_away_at_the_seal(rig)
    results = await rig.run(SCRIPT)
    records_of(rig).away = False
    frames = await rig.frames()
    kept = await rig.outbox.kept(RUN_ID)
    reply = cast("dict[str, Any]", frames[-2])

    assert (results[-1].outcome, results[-1].status) == ("ended", "completed")
    assert (reply["type"], reply["data"]["stored"], frames[-1]["type"]) == ("data-reply", False, "finish")
    assert kept is not None
    assert (Seal.model_validate_json(kept).outcome.status, await free(rig)) == ("completed", False)


async def test_an_answer_the_records_refuse_waits_for_another_build(rig: Rig) -> None:
    """LAW-P1 C24: a fault of ours at the very end is no reason to run the turn for ever."""
    await rig.begin(SCRIPT.input)
    records_of(rig).refuses = ValueError("a column is missing")
    results = await rig.run(SCRIPT)

    assert (results[-1].outcome, await rig.outbox.size()) == ("ended", 1)


async def test_nobody_is_told_before_the_outbox_has_it(rig: Rig) -> None:
    """C24: killed in between, the next attempt finds the seal and stores the answer after all."""
    await rig.begin(SCRIPT.input)
    rig.fault = go_away_at_the_seal(rig, dying=True)
    await rig.run(SCRIPT)
    kept = await rig.outbox.size()
    records_of(rig).away, rig.fault = False, lambda _: asyncio.sleep(0)
    rig.clock.now += rig.settings.lease_ms + 1
    await rig.run(SCRIPT, first=2)
    reply = cast("dict[str, Any]", (await rig.frames())[-2])

    assert (kept, reply["data"]["stored"], await free(rig)) == (1, True, True)


async def first_slice(rig: Rig) -> None:
    """Begin the turn, and leave it at its second step with nobody at work."""
    await rig.begin(SCRIPT.input)
    job = Job(run_id=RUN_ID, order=Order(1, 1, 1), mode="workflow", slice_ms=0)
    result = await rig.runner(SCRIPT).run(job, asyncio.Event())
    assert result.outcome == "handed_over"


async def failed(rig: Rig) -> SliceResult:
    return await rig.runner(SCRIPT).fail(RUN_ID, Order(1, 2, 1), "interrupted")


async def test_a_run_whose_checkpoint_cannot_be_read_ends_with_what_was_shown(rig: Rig) -> None:
    """LAW-P1 FR16: written by a newer build, say, that is not there any more."""
    await first_slice(rig)
    claimed = await rig.store.claim(RUN_ID, ClaimRequest(order=Order(1, 1, 2), owner="newer", mode="workflow"))
    assert isinstance(claimed, Claimed)
    await rig.store.append(claimed.grip, Append(start=claimed.next, delta=b'{"v": 2}'))
    await rig.store.release(claimed.grip, None, Order(1, 1, 2))
    with pytest.raises(ValueError, match="version"):
        await rig.run(SCRIPT, first=2)
    rig.clock.now += rig.settings.lease_ms + 1
    result = await failed(rig)

    assert (result.outcome, result.status) == ("ended", "interrupted")
    assert await end_of(rig) == (["data-error", "error", "data-usage", "data-reply", "finish"], True)
    assert await free(rig)


async def test_a_run_whose_assistant_is_gone_ends(rig: Rig) -> None:
    """LAW-P1 FR16"""
    await first_slice(rig)
    runner = rig.runner(SCRIPT)
    runner._parts = replace(runner._parts, assistants={})
    with pytest.raises(KeyError):
        await runner.run(Job(run_id=RUN_ID, order=Order(1, 2, 1), mode="workflow"), asyncio.Event())
    rig.clock.now += rig.settings.lease_ms + 1
    result = await runner.fail(RUN_ID, Order(1, 2, 1), "interrupted")

    assert (result.outcome, await end_of(rig)) == (
        "ended",
        (["data-error", "error", "data-usage", "data-reply", "finish"], True),
    )
    assert await free(rig)


async def test_a_run_fails_while_the_records_are_away(rig: Rig) -> None:
    """LAW-P1 C24: an end needs no history, and no database."""
    await rig.begin(SCRIPT.input)
    records_of(rig).away = True
    result = await failed(rig)

    assert (result.outcome, result.status, await rig.outbox.size()) == ("ended", "interrupted", 1)


async def test_a_turn_whose_history_nobody_can_tell_ends(rig: Rig) -> None:
    """LAW-P1 C24: after a bound, typed, and not asked of a model that would not know what was said."""
    await rig.begin(SCRIPT.input)
    records_of(rig).away = True
    results = await rig.run(SCRIPT)
    records_of(rig).away = False
    error = cast("list[dict[str, Any]]", [frame for frame in await rig.frames() if frame["type"] == "data-error"])

    assert [result.status for result in results] == ["failed"]
    assert [frame["data"]["kind"] for frame in error] == ["unavailable"]


async def test_a_slice_hands_over_to_somebody(rig: Rig) -> None:
    """C10: while nobody could take the run up, its executor goes on; a process that leaves has no choice."""
    asked: list[bool] = []

    async def reachable() -> bool:
        asked.append(True)
        return len(asked) > 1

    rig.reachable = reachable
    script = script_of(4)
    await rig.begin(script.input)
    results = await rig.run(script, slice_ms=0)

    assert [(result.outcome, result.steps) for result in results] == [
        ("handed_over", 3),
        ("handed_over", 4),
        ("ended", 4),
    ]


async def test_a_process_that_leaves_asks_nobody(rig: Rig) -> None:
    """C10, REQ-C12"""

    async def nobody() -> bool:
        raise AssertionError("asked")

    rig.reachable = nobody
    drain = asyncio.Event()
    drain.set()
    await rig.begin(SCRIPT.input)
    job = Job(run_id=RUN_ID, order=Order(1, 1, 1), mode="workflow", slice_ms=0)
    result = await rig.runner(SCRIPT).run(job, drain)

    assert (result.outcome, result.reason) == ("handed_over", "draining")
