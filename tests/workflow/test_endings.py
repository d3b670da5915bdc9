"""Whatever ends a durable run, it ends once and its conversation takes the next message (LAW-P1), on a real server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import pytest
from temporalio.client import Client

from app.clock import SystemClock
from checkpoints.memory import MemoryRunStore
from checkpoints.port import Grip, Order
from dispatch.temporal import workflow_id
from protocol.clock import Clock
from protocol.errors import TurnkeepError
from protocol.frames import Frame
from protocol.turn import ChatTurnInput, SliceResult
from records.records import Records
from records.values import Begun, Key, TurnBegin
from runner.parts import RunnerSettings
from tests.rig import Rig, StillClock
from tests.temporal import temporal_server
from tests.workflow.dispatching import Bench
from tests.workflow.durable import Gate, inline_frames, script_of, start, working
from tests.workflow.starting import connected
from tests.workflow.sweeping import SWEEP_MS
from workflows.chat_turn import ChatTurn
from workflows.connection import answers, connect

SCRIPT = script_of(3)
TALK = Key(owner="ada", conversation_id="talk")
LEASE = RunnerSettings(lease_ms=100, renew_ms=25)


class Watched(MemoryRunStore):
    """Says when somebody released a run."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.released = asyncio.Event()

    async def release(self, grip: Grip, committed: bytes | None, order: Order) -> bool:
        released = await super().release(grip, committed, order)
        self.released.set()
        return released


@asynccontextmanager
async def bench(run_id: str, *, lapsing: bool = True) -> AsyncIterator[Rig]:
    """A rig with the run begun. Its leases lapse by themselves, or when the rig's clock is moved."""
    async with await Records.in_memory() as records:
        clock = StillClock()
        store = Watched(SystemClock() if lapsing else clock)
        rig = Rig(records=records, clock=clock, store=store, settings=LEASE if lapsing else RunnerSettings())
        await rig.begin(SCRIPT.input, run_id=run_id)
        yield rig


async def ended_once(rig: Rig, run_id: str) -> list[Frame]:
    """The log, seen to have one end, and the conversation free."""
    frames = await rig.frames(run_id)
    kinds = [frame["type"] for frame in frames]
    assert (kinds.count("finish"), kinds[-1]) == (1, "finish")
    begun = await rig.records.begin(
        TurnBegin(key=TALK, run_id="next", assistant="bench", user_message_id="u", message_id="m", parts=(), now_ms=1)
    )
    assert isinstance(begun, Begun)
    return frames


async def test_a_failure_that_no_attempt_can_mend_ends_the_run(client: Client, run_id: str) -> None:
    """FR16 FR21 REQ-D8: tried once, told with its kind."""
    async with bench(run_id) as rig:
        tries: list[str] = []

        async def refuse(point: str) -> None:
            tries.append(point)
            if tries == ["claimed"]:
                raise TurnkeepError("not_configured", "There is no model.")

        rig.fault = refuse
        async with working(client, run_id, rig, rig.runner(SCRIPT)):
            result = await (await start(client, ChatTurnInput(run_id=run_id))).result()
        frames = await ended_once(rig, run_id)

        assert (result.status, tries.count("claimed")) == ("failed", 2)
        assert [frame["data"] for frame in frames if frame["type"] == "data-error"] == [
            {
                "kind": "not_configured",
                "message": "The turn was interrupted and could not be finished. Send it again.",
                "retryable": False,
            }
        ]


async def test_a_turn_that_kills_whoever_executes_it_ends(client: Client, run_id: str) -> None:
    """C16 FR16 FR21 REQ-D8: after five claims without progress, told as interrupted."""
    async with bench(run_id) as rig:
        claims: list[str] = []

        async def die(point: str) -> None:
            claims.append(point)
            if len(claims) <= 5:
                raise ValueError("a fault that kills")

        rig.fault = die
        async with working(client, run_id, rig, rig.runner(SCRIPT)):
            result = await (await start(client, ChatTurnInput(run_id=run_id))).result()
        await ended_once(rig, run_id)
        run = await rig.records.run(run_id)

        assert (result.status, run and run.kind, claims.count("claimed")) == ("interrupted", "interrupted", 6)


# The SDK's word for a cancellation that arrives when its activity has just ended.
@pytest.mark.filterwarnings("ignore:Cannot find activity to cancel")
async def test_terminated_in_mid_step_the_run_goes_on_from_outside(client: Client, run_id: str) -> None:
    """FR49 C4 C8: its executor lives and goes on to the next boundary; who comes after it is found by the sweep."""
    async with bench(run_id, lapsing=False) as rig:
        gate = rig.pace = Gate(2)
        store = rig.store
        assert isinstance(store, Watched)
        workflows = await connected(client, run_id)
        async with working(client, run_id, rig, rig.runner(SCRIPT)):
            handle = await start(client, ChatTurnInput(run_id=run_id, slice_ms=0, heartbeat_ms=500))
            await gate.reached.wait()
            await handle.terminate()
            store.released.clear()
            gate.open.set()
            await store.released.wait()  # its executor went on to the next boundary
            bench_of_another = Bench(rig, workflows)
            await bench_of_another.dispatcher.probe()
            for _ in range(2):
                rig.clock.now += SWEEP_MS
                await bench_of_another.dispatcher.care.sweep()
                await bench_of_another.dispatcher.decided()
            await client.get_workflow_handle(workflow_id(run_id, 2)).result()

        assert await ended_once(rig, run_id) == await inline_frames(SCRIPT, run_id)


async def test_a_run_is_not_handed_over_to_a_server_that_is_away(tmp_path: Path, run_id: str) -> None:
    """C10: the executor keeps the claim and goes on, and when the server is back the workflow finds the run ended."""
    with temporal_server(tmp_path) as server:
        client = await connect(server.address)
        async with bench(run_id, lapsing=False) as rig:
            rig.reachable = lambda: answers(client)
            gate = rig.pace = Gate(2)
            async with working(client, run_id, rig, rig.runner(SCRIPT)):
                handle = await start(client, ChatTurnInput(run_id=run_id, slice_ms=0))
                await gate.reached.wait()
                server.kill()
                gate.open.set()
                while (view := await rig.store.view(run_id)) is None or view.state != "ended":
                    await answers(client)  # it is not there: each look takes a moment
                attempts = view.attempt
                server.start()
                result = await handle.result()

            assert (result.outcome, attempts) == ("ended", 2)
            assert await ended_once(rig, run_id) == await inline_frames(SCRIPT, run_id)


Point = Callable[[str], Awaitable[None]]


def at(number: int, act: Callable[[], Awaitable[None]]) -> tuple[Point, list[str]]:
    """A fault that acts at the so-many-th named point, and what points there were."""
    seen: list[str] = []

    async def fault(point: str) -> None:
        seen.append(point)
        if len(seen) == number:
            await act()

    return fault, seen


async def play(client: Client, run_id: str, stop_at: int) -> tuple[list[str], SliceResult]:
    """A turn in as many slices and histories as it can be cut into, stopped twice at a point."""
    async with bench(run_id, lapsing=False) as rig:

        async def stop() -> None:
            await asyncio.gather(rig.store.stop(run_id), rig.store.stop(run_id))
            handle = client.get_workflow_handle(run_id)
            await asyncio.gather(handle.signal(ChatTurn.stop), handle.signal(ChatTurn.stop))

        rig.fault, seen = at(stop_at, stop)
        async with working(client, run_id, rig, rig.runner(SCRIPT)):
            handle = await start(client, ChatTurnInput(run_id=run_id, slice_ms=0, max_slices=1))
            result = await handle.result()
        await ended_once(rig, run_id)
        return seen, result


@pytest.mark.long
@pytest.mark.timeout(120)
async def test_a_stop_at_any_point_has_an_effect(client: Client, run_id: str) -> None:
    """FR22 FR14: around hand-overs, continue-as-new and the end; once the outcome is sealed it came too late (C3)."""
    points, _ = await play(client, run_id, stop_at=0)
    for number, point in enumerate(points, start=1):
        late = "sealed" in points[:number]
        _, result = await play(client, str(uuid5(NAMESPACE_OID, f"{run_id}{number}")), stop_at=number)

        assert (point, result.outcome, result.status) == (point, "ended", "completed" if late else "stopped")
