"""What an executor does only while it knows that it may: effects within its lease (C14), calls that are recorded (C6, C9)."""

import asyncio
from collections.abc import AsyncIterator
from copy import deepcopy

import pytest

from checkpoints.memory import MemoryRunStore
from checkpoints.memory_run import MemoryRun
from checkpoints.port import Claimed, ClaimRequest, Order
from protocol.frames import Frame
from protocol.turn import SliceResult
from records.records import Records
from records.values import Key, Span
from runner.work import NOT_RECORDED
from tests.rig import RUN_ID, Rig, StillClock
from tests.unit.test_lost_and_found import attempt, script_of

SCRIPT = script_of("parallel_tools")


@pytest.fixture
async def empty() -> AsyncIterator[Rig]:
    async with await Records.in_memory() as records:
        clock = StillClock()
        yield Rig(records=records, clock=clock, store=MemoryRunStore(clock))


@pytest.fixture
async def rig(empty: Rig) -> Rig:
    """With the run begun."""
    await empty.begin(SCRIPT.input)
    return empty


def pause_at(rig: Rig, point: str, *, successor: bool) -> None:
    """Let the executor sleep there for longer than its lease."""

    async def fault(reached: str) -> None:
        if reached == point:
            rig.clock.now += rig.settings.lease_ms + 1
            if successor:
                request = ClaimRequest(order=Order(1, 1, 2), owner="successor", mode="workflow", lease_ms=60_000)
                assert isinstance(await rig.store.claim(RUN_ID, request), Claimed)

    rig.fault = fault


async def test_an_executor_that_slept_calls_no_tool_where_another_took_over(rig: Rig) -> None:
    """C14, LAW-P3: paused between intent and effect."""
    pause_at(rig, "boundary:asked", successor=True)

    assert await attempt(rig, SCRIPT) == SliceResult(outcome="stale")
    assert rig.outside.effects == []


async def test_an_executor_that_slept_alone_goes_on(rig: Rig) -> None:
    """C14: it renews first."""
    pause_at(rig, "boundary:asked", successor=False)

    assert (await attempt(rig, SCRIPT)).status == "completed"
    assert rig.outside.effects == [f"{RUN_ID}:1.2"]


@pytest.mark.parametrize("successor", [True, False])
async def test_the_records_are_written_by_who_holds_the_run(rig: Rig, *, successor: bool) -> None:
    """C14: paused between the seal and the records."""
    pause_at(rig, "sealed", successor=successor)

    result = await attempt(rig, SCRIPT)

    stored = await rig.records.messages(Key(owner="ada", conversation_id="talk"), Span())
    assert stored is not None
    answers = [message.outcome for message in stored if message.role == "assistant"]
    assert (result.outcome, answers) == (("stale", []) if successor else ("ended", ["completed"]))


async def test_what_must_not_be_repeated_is_not_called_where_that_cannot_be_recorded(empty: Rig) -> None:
    """C6, C9: the other tools are, the model is told, and the turn ends well."""
    rig = empty
    rig.store = MemoryRunStore(rig.clock, durable=False)
    await rig.begin(SCRIPT.input)

    result = await attempt(rig, SCRIPT)

    outputs = [frame for frame in await rig.frames() if frame["type"].startswith("tool-output")]
    assert (result.status, rig.outside.effects) == ("completed", [])
    assert [frame["type"] for frame in outputs] == ["tool-output-available"] * 2 + ["tool-output-error"]
    assert outputs[2] == {
        "type": "tool-output-error",
        "toolCallId": "c1.2",
        "errorText": NOT_RECORDED,
        "dynamic": True,
    }


async def test_a_store_that_may_have_gone_back_is_padded_before_the_step_is_withdrawn(rig: Rig) -> None:
    """C9: no index that a reader may have passed carries other frames than he saw."""
    await _die_at(rig, "boundary:open")
    rig.store.server = "another"  # type: ignore[attr-defined] # it is the memory store

    result = await attempt(rig, SCRIPT, 2)

    kinds = [frame["type"] for frame in await rig.frames()]
    reset = kinds.index("reset-step")
    assert (kinds[4:reset], reset) == (["data-void"] * 512 + ["data-recovering"], 517)
    assert (result.status, rig.outside.effects) == ("completed", [f"{RUN_ID}:1.2"])


async def test_calls_of_a_store_that_may_have_gone_back_are_of_unknown_outcome(rig: Rig) -> None:
    """C9, LAW-P3: "intended" is what it says, "started" may be what it lost."""
    rig.parallel_tools = False
    await _die_at(rig, "boundary:asked")
    rig.store.server = "another"  # type: ignore[attr-defined] # it is the memory store

    result = await attempt(rig, SCRIPT, 2)

    frames = await rig.frames()
    assert (result.status, rig.outside.effects) == ("completed", [])
    assert [frame["type"] for frame in frames if frame["type"].startswith("tool-output")] == [
        "tool-output-available",
        "tool-output-available",
        "tool-output-error",
    ]
    assert not any(frame["type"] == "reset-step" for frame in frames)


async def test_padding_that_was_cut_off_is_finished_by_the_next_attempt(rig: Rig) -> None:
    """C9: the reservation stands until the log has passed it."""
    await _die_at(rig, "boundary:open")
    rig.store.server = "another"  # type: ignore[attr-defined] # it is the memory store
    await _die_at(rig, "claimed", number=2)

    await attempt(rig, SCRIPT, 3)

    frames: list[Frame] = await rig.frames()
    assert [frame["type"] for frame in frames].count("data-void") == 512


async def test_a_store_that_went_back_to_before_the_seal_does_not_run_the_turn_again(rig: Rig) -> None:
    """C3, C9, LAW-P3: the records have the answer, and nothing of the run stays in the store."""
    store = rig.store
    assert isinstance(store, MemoryRunStore)
    before: list[MemoryRun] = []

    async def fault(point: str) -> None:
        if point == "boundary:asked":
            before.append(deepcopy(store._runs[RUN_ID]))
        if point == "stored":
            raise asyncio.CancelledError

    rig.fault = fault
    with pytest.raises(asyncio.CancelledError):
        await attempt(rig, SCRIPT)
    store._runs[RUN_ID], store.server = before[0], "another"
    rig.clock.now += rig.settings.lease_ms + 1
    result = await attempt(rig, SCRIPT, 2)

    assert result == SliceResult(outcome="ended", status="completed")
    assert rig.outside.effects == [f"{RUN_ID}:1.2"]
    assert await store.view(RUN_ID) is None


async def _die_at(rig: Rig, point: str, *, number: int = 1) -> None:
    async def fault(reached: str) -> None:
        if reached == point:
            raise asyncio.CancelledError

    before, rig.fault = rig.fault, fault
    with pytest.raises(asyncio.CancelledError):
        await attempt(rig, SCRIPT, number)
    rig.fault = before
    rig.clock.now += rig.settings.lease_ms + 1
