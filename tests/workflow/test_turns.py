"""Real turns through a real server: what readers see, and what happens to a run around its slices."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client, WorkflowExecutionStatus

from activities.slices import SliceActivities
from activities.worker import WorkerSettings, run_worker
from checkpoints.memory import MemoryRunStore
from checkpoints.port import Claimed, ClaimRequest, Order
from protocol.turn import ChatTurnInput, SliceResult
from records.records import Records
from runner.port import Job
from tests.rig import Rig, StillClock
from tests.workflow.durable import Gate, event_types, inline_frames, script_of, start, working
from workflows.chat_turn import ChatTurn

SCRIPT = script_of(4)


@pytest.fixture
async def rig(run_id: str) -> AsyncIterator[Rig]:
    """A bench with the run begun."""
    async with await Records.in_memory() as records:
        clock = StillClock()
        rig = Rig(records=records, clock=clock, store=MemoryRunStore(clock))
        await rig.begin(SCRIPT.input, run_id=run_id)
        yield rig


async def test_sliced_durably_the_frames_are_those_of_one_invocation(client: Client, run_id: str, rig: Rig) -> None:
    """LAW-P4 C21 REQ-Y3 REQ-C11"""
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        result = await (await start(client, ChatTurnInput(run_id=run_id, slice_ms=0))).result()

    frames = await rig.frames(run_id)
    assert frames == await inline_frames(SCRIPT, run_id)
    assert result == SliceResult(outcome="ended", status="completed", steps=4, frames=len(frames))


async def test_a_committed_slice_is_not_run_again(client: Client, run_id: str, rig: Rig) -> None:
    """C17: its completion was lost with the server, its result was not."""
    first = Job(run_id=run_id, order=Order(1, 1, 1), mode="workflow", slice_ms=0)
    await rig.runner(SCRIPT).run(first, asyncio.Event())
    seen = await rig.frames(run_id)
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        await (await start(client, ChatTurnInput(run_id=run_id, slice_ms=0))).result()

    view = await rig.store.view(run_id)
    frames = await rig.frames(run_id)
    assert view is not None
    assert (view.order, view.attempt) == (Order(1, 4, 1), 4)
    assert (frames[: len(seen)], frames) == (seen, await inline_frames(SCRIPT, run_id))


async def test_a_stop_signal_cuts_the_wait_for_a_busy_run_short(client: Client, run_id: str, rig: Rig) -> None:
    """C8 C12: it carries nothing; that the run is stopped is in the store."""
    held = await rig.store.claim(
        run_id, ClaimRequest(order=Order(1, 0, 1), owner="inline", mode="inline", lease_ms=60_000)
    )
    assert isinstance(held, Claimed)
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        handle = await start(client, ChatTurnInput(run_id=run_id))
        while "TIMER_STARTED" not in await event_types(handle):
            pass  # each look is a call to the server
        await rig.store.stop(run_id)
        await rig.store.release(held.grip, None, Order(1, 0, 1))
        await handle.signal(ChatTurn.stop)
        result = await handle.result()

    assert (result.outcome, result.status) == ("ended", "stopped")
    assert [name for name in await event_types(handle) if name.startswith("TIMER")] == [
        "TIMER_STARTED",
        "TIMER_CANCELED",
    ]


async def test_cancelling_the_workflow_stops_the_run(client: Client, run_id: str, rig: Rig) -> None:
    """LAW-P1: also by an operator; the reader gets an end, and the answer so far is kept."""
    gate = rig.pace = Gate(2)
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        handle = await start(client, ChatTurnInput(run_id=run_id, slice_ms=0))
        await gate.reached.wait()
        await handle.cancel()
        result = await handle.result()

    description = await handle.describe()
    assert (result.outcome, result.status) == ("ended", "stopped")
    assert description.status is WorkflowExecutionStatus.COMPLETED
    assert [frame["type"] for frame in (await rig.frames(run_id))[-4:]] == [
        "abort",
        "data-usage",
        "data-reply",
        "finish",
    ]


async def test_a_workflow_cancelled_before_its_first_slice_stops_the_run(client: Client, run_id: str, rig: Rig) -> None:
    handle = await start(client, ChatTurnInput(run_id=run_id))
    await handle.cancel()
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        result = await handle.result()

    assert (result.outcome, result.status) == ("ended", "stopped")


async def test_a_worker_told_to_stop_hands_over_at_the_next_boundary(client: Client, run_id: str, rig: Rig) -> None:
    """REQ-C12 LAW-P2: another worker goes on, and the reader sees nothing of it."""
    gate = rig.pace = Gate(2)
    first = SliceActivities(runner=rig.runner(SCRIPT), store=rig.store, drain=asyncio.Event())
    leaving = asyncio.create_task(run_worker(client, first, WorkerSettings(task_queue=run_id, build_id="first")))
    handle = await start(client, ChatTurnInput(run_id=run_id))
    await gate.reached.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await first.drain.wait()
    gate.open.set()
    await leaving
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        await handle.result()

    view = await rig.store.view(run_id)
    assert view is not None
    assert (view.order, view.attempt) == (Order(1, 2, 1), 2)
    assert await rig.frames(run_id) == await inline_frames(SCRIPT, run_id)


async def test_a_step_that_outlasts_the_grace_period_becomes_another_attempt(
    client: Client, run_id: str, rig: Rig
) -> None:
    """REQ-C12: the model call is abandoned, and the reader is told that the step begins again."""
    gate = rig.pace = Gate(2)
    first = SliceActivities(runner=rig.runner(SCRIPT), store=rig.store, drain=asyncio.Event())
    settings = WorkerSettings(task_queue=run_id, build_id="first", grace_seconds=0)
    leaving = asyncio.create_task(run_worker(client, first, settings))
    handle = await start(client, ChatTurnInput(run_id=run_id))
    await gate.reached.wait()
    first.drain.set()
    await leaving
    rig.clock.now += 60_000  # the lease of what was abandoned lapses
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        result = await handle.result()

    types = [frame["type"] for frame in await rig.frames(run_id)]
    assert (result.status, types.count("reset-step"), types.count("finish")) == ("completed", 1, 1)
