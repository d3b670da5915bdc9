"""What the server keeps of a run: ids, counters, kinds, and few of them."""

from collections.abc import AsyncIterator, Sequence

import pytest
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from protocol.errors import StoreUnavailable, TurnkeepError
from protocol.turn import ChatTurnInput, SliceResult
from records.records import Records
from tests.rig import Rig
from tests.workflow.durable import Answering, Durable, script_of, start, working
from workflows.connection import CONVERTER

MARKER = "xylophone"


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with await Records.in_memory() as records:
        yield Rig(records=records)


async def events_of(handle: Durable) -> Sequence[HistoryEvent]:
    return (await handle.fetch_history()).events


async def test_nothing_that_was_said_is_in_history(client: Client, run_id: str, rig: Rig) -> None:
    """LAW-P6 C12: not the question, not the answer, not what tools were asked."""
    script = script_of(3, text=MARKER)
    await rig.begin(MARKER, run_id=run_id)
    async with working(client, run_id, rig, rig.runner(script)):
        handle = await start(client, ChatTurnInput(run_id=run_id, slice_ms=0))
        await handle.result()

    said = sum(str(frame).count(MARKER) for frame in await rig.frames(run_id))
    kept = b"".join(event.SerializeToString() for event in await events_of(handle))
    assert (said, kept.count(MARKER.encode()), kept.count(run_id.encode()) > 0) == (3, 0, True)


async def test_an_exception_leaves_its_kind_in_history_and_not_its_text(client: Client, run_id: str, rig: Rig) -> None:
    """LAW-P6 C12"""
    cause = ValueError(MARKER)
    cause.__cause__ = KeyError(MARKER)
    runner = Answering(
        answers=[cause, StoreUnavailable(MARKER), TurnkeepError("too_large", MARKER)],
        failing=[TurnkeepError("invalid", MARKER), SliceResult(outcome="ended", status="failed")],
    )
    async with working(client, run_id, rig, runner):
        handle = await start(client, ChatTurnInput(run_id=run_id))
        await handle.result()

    kept = b"".join(event.SerializeToString() for event in await events_of(handle))
    assert [word in kept for word in (MARKER.encode(), b"too_large", b"invalid")] == [False, True, True]


def test_no_exception_of_any_process_crosses_with_its_text() -> None:
    """C12: also one that no code of ours caught, with all its causes."""
    error = ApplicationError(MARKER, type="interrupted")
    with pytest.raises(ApplicationError):
        raise error from KeyError(MARKER)
    failure = Failure()
    CONVERTER.failure_converter.to_failure(error, CONVERTER.payload_converter, failure)

    assert (failure.message, failure.cause.message) == ("interrupted", "KeyError")
    assert (MARKER in str(failure), failure.stack_trace, failure.cause.stack_trace) == (False, "", "")


async def test_history_grows_by_the_same_few_bytes_with_every_slice(client: Client, run_id: str, rig: Rig) -> None:
    """FR49 REQ-D1: by slices, whatever the conversation weighs; below what a run of a day would need to be cut."""
    script = script_of(20, text="word " * 1_000)
    await rig.begin("x" * 100_000, run_id=run_id)
    async with working(client, run_id, rig, rig.runner(script)):
        handle = await start(client, ChatTurnInput(run_id=run_id, slice_ms=0))
        await handle.result()

    sizes: list[int] = []
    for event in await events_of(handle):
        if event.HasField("activity_task_scheduled_event_attributes"):
            sizes.append(0)
        if sizes:
            sizes[-1] += event.ByteSize()
    assert len(sizes) == 20
    assert max(sizes) < 2_000
    assert max(sizes[1:-1]) - min(sizes[1:-1]) < 100


async def test_a_large_message_never_travels_through_the_server(client: Client, run_id: str, rig: Rig) -> None:
    """FR48 REQ-C7: the envelope holds ids, the message is read from the run's store."""
    turn = ChatTurnInput(run_id=run_id)
    await rig.begin("x" * 3_000_000, run_id=run_id)
    async with working(client, run_id, rig, rig.runner(script_of(1))):
        handle = await start(client, turn)
        result = await handle.result()

    started = (await events_of(handle))[0].workflow_execution_started_event_attributes
    assert result.status == "completed"
    assert [payload.data for payload in started.input.payloads] == [turn.model_dump_json().encode()]
