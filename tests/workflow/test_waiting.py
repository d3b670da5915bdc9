"""Runs that wait for a person, with a real server: nobody is at work meanwhile, and nothing is lost."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client

from checkpoints.memory import MemoryRunStore
from protocol.frames import Frame
from protocol.turn import ChatTurnInput, SliceResult
from providers.script import parse_script
from records.records import Records
from tests.rig import Rig, StillClock
from tests.temporal import temporal_server
from tests.waiting import say, waiting_tools
from tests.workflow.durable import Answering, Durable, chain, event_types, start, working
from tests.workflow.test_chat_turn import Halting
from workflows.chat_turn import ChatTurn
from workflows.connection import connect

ENDED = SliceResult(outcome="ended", status="completed")
PARKED = SliceResult(outcome="parked", wait_ms=600_000)
MARKER = "xylophone"
SCRIPT = parse_script(
    "\n".join(
        json.dumps(line)
        for line in (
            {"v": 1, "name": "pay", "input": "Pay."},
            {
                "events": [
                    {"type": "text", "text": "I will."},
                    {"type": "tool_input", "id": "t1", "name": "pay", "delta": '{"euros": 5}'},
                    {"type": "tool_input", "id": "t2", "name": "ask_user", "delta": '{"question": "Sure?"}'},
                    {"type": "stop", "reason": "tool_use"},
                ]
            },
            {"events": [{"type": "text", "text": "Done."}, {"type": "stop"}]},
        )
    )
)
DECIDED = ({"type": "approve", "target": "c1.0"}, {"type": "answer", "target": "c1.1", "value": MARKER})


@pytest.fixture
async def rig(run_id: str) -> AsyncIterator[Rig]:
    """A bench with the run begun."""
    async with await Records.in_memory() as records:
        clock = StillClock()
        rig = Rig(records=records, clock=clock, store=MemoryRunStore(clock))
        rig.more_tools = waiting_tools(rig.outside)
        await rig.begin(SCRIPT.input, run_id=run_id)
        yield rig


async def parked(handle: Durable) -> list[str]:
    """The history, as soon as the workflow waits."""
    while "TIMER_STARTED" not in (names := await event_types(handle)):
        pass  # each look is a call to the server
    return names


def kinds(frames: list[Frame]) -> list[str]:
    return [frame["type"] for frame in frames]


async def test_hours_later_and_after_restarts_of_everything_the_run_goes_on(
    tmp_path: Path, run_id: str, rig: Rig
) -> None:
    """LAW-P8 [W7] FR14: meanwhile no worker is alive and the server was killed; history has not grown."""
    with temporal_server(tmp_path) as server:
        client = await connect(server.address)
        async with working(client, run_id, rig, rig.runner(SCRIPT)):
            before = await parked(await start(client, ChatTurnInput(run_id=run_id)))
        seen = await rig.frames(run_id)
        server.kill()
        rig.clock.now += 6 * 24 * 3600 * 1000
        await say(rig, *DECIDED, run_id=run_id)
        server.start()
        client = await connect(server.address)
        handle = client.get_workflow_handle(run_id, result_type=SliceResult)
        during = await event_types(handle)
        async with working(client, run_id, rig, rig.runner(SCRIPT)):
            await handle.signal(ChatTurn.input)
            result = await handle.result()
        after = await event_types(handle)

    frames = await rig.frames(run_id)
    assert (result.status, frames[: len(seen)], "finish" in kinds(seen)) == ("completed", seen, False)
    assert (before, during.count("ACTIVITY_TASK_SCHEDULED")) == (during, 1)
    assert after.count("ACTIVITY_TASK_SCHEDULED") == 2
    assert (len(rig.outside.effects), kinds(frames).count("finish")) == (1, 1)


async def test_nothing_a_person_says_to_a_run_is_in_history(client: Client, run_id: str, rig: Rig) -> None:
    """LAW-P6 C12: not an answer, not a reason, not a steering message."""
    said = (*DECIDED[1:], {"type": "deny", "target": "c1.0", "text": MARKER})
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        handle = await start(client, ChatTurnInput(run_id=run_id))
        await parked(handle)
        await say(rig, *said, {"type": "steer", "id": "s1", "text": MARKER}, run_id=run_id)
        await handle.signal(ChatTurn.input)
        await handle.result()

    shown = sum(str(frame).count(MARKER) for frame in await rig.frames(run_id))
    kept = b"".join(event.SerializeToString() for event in (await handle.fetch_history()).events)
    assert (shown, kept.count(MARKER.encode())) == (3, 0)


async def test_a_wake_up_for_nothing_parks_the_run_again(client: Client, run_id: str, rig: Rig) -> None:
    """C12 C16: more often than a run may be claimed in vain; waiting is not failing."""
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        handle = await start(client, ChatTurnInput(run_id=run_id))
        for wait in range(1, 8):
            while (await event_types(handle)).count("TIMER_STARTED") < wait:
                pass
            await handle.signal(ChatTurn.input)
        await say(rig, *DECIDED, run_id=run_id)
        await handle.signal(ChatTurn.input)
        result = await handle.result()

    assert result.status == "completed"


async def test_nobody_answers_in_time(client: Client, run_id: str, rig: Rig) -> None:
    """LAW-P1 [W8]: the timer alone ends it."""
    rig.with_limits(wait_seconds=0.05)
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        handle = await start(client, ChatTurnInput(run_id=run_id))
        await parked(handle)
        rig.clock.now += 50
        result = await handle.result()

    run = await rig.records.run(run_id)
    assert run is not None
    assert (result.status, run.kind, rig.outside.effects) == ("failed", "unanswered", [])


@pytest.mark.parametrize("how", ["signal", "cancel"])
async def test_a_parked_run_is_stopped_at_once(client: Client, run_id: str, rig: Rig, how: str) -> None:
    """FR14 FR28 [W7]"""
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        handle = await start(client, ChatTurnInput(run_id=run_id))
        await parked(handle)
        if how == "signal":
            await rig.store.stop(run_id)
            await handle.signal(ChatTurn.stop)
        else:
            await handle.cancel()
        result = await handle.result()

    ending = ["tool-approval-response", "tool-output-denied", "tool-output-error", "finish-step", "abort"]
    assert (result.status, rig.outside.effects) == ("stopped", [])
    assert kinds(await rig.frames(run_id))[-8:-3] == ending


async def test_an_answer_that_comes_as_the_slice_parks_is_not_waited_for(client: Client, run_id: str, rig: Rig) -> None:
    """C12: it is put between the runner's last look and its leaving; parking looks again."""

    async def answer_when_asked(point: str) -> None:
        if point == "boundary:asked":
            rig.fault = lambda _: asyncio.sleep(0)
            await say(rig, *DECIDED, run_id=run_id)

    rig.fault = answer_when_asked
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        handle = await start(client, ChatTurnInput(run_id=run_id))
        result = await handle.result()

    assert (result.status, (await event_types(handle)).count("TIMER_STARTED")) == ("completed", 0)


async def test_a_wake_up_during_continue_as_new_is_not_lost(client: Client, run_id: str) -> None:
    """FR22 C12: it came in the history before, while the first slice ran; the parked run of the next one does not wait."""
    runner = Halting(answers=[SliceResult(outcome="handed_over", reason="budget"), PARKED, ENDED])
    async with await Records.in_memory() as records, working(client, run_id, Rig(records=records), runner):
        handle = await start(client, ChatTurnInput(run_id=run_id, max_slices=1))
        await runner.halted.wait()
        await handle.signal(ChatTurn.input)
        runner.go_on.set()
        await handle.result()

    histories = await chain(client, handle)
    assert [history.count("TIMER_STARTED") for history in histories] == [0, 0, 0]
    assert [slice_ for _, slice_, _ in runner.orders] == [1, 2, 3]


async def test_a_run_that_parks_often_continues_as_new(client: Client, run_id: str) -> None:
    """FR49 FR22: one wait each, and every signal is followed by a slice."""
    runner = Answering(answers=[PARKED, PARKED, PARKED, ENDED])
    async with await Records.in_memory() as records, working(client, run_id, Rig(records=records), runner):
        handle = await start(client, ChatTurnInput(run_id=run_id, max_slices=1))
        for slice_ in (1, 2, 3):
            while (
                "TIMER_STARTED" not in await event_types(client.get_workflow_handle(run_id))
                or len(runner.jobs) < slice_
            ):
                pass  # each look is a call to the server
            await client.get_workflow_handle(run_id).signal(ChatTurn.input)
        await handle.result()

    assert [slice_ for _, slice_, _ in runner.orders] == [1, 2, 3, 4]
