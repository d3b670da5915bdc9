"""Who goes on with a parked run, wherever it ran and whatever is away."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from checkpoints.memory import MemoryRunStore
from checkpoints.port import Grip, Order, Refusal, RunView
from checkpoints.waiting import Parking, Unread
from dispatch.inline import InlineTurns
from dispatch.temporal import Workflows
from protocol.turn import SliceResult, Transport
from records.records import Records
from runner.port import Job
from tests.rig import Rig, StillClock
from tests.waiting import say, waiting_tools
from tests.workflow.dispatching import Bench, end_of, nowhere
from tests.workflow.durable import Answering, working
from tests.workflow.starting import connected
from tests.workflow.sweeping import Sweeps
from tests.workflow.test_waiting import DECIDED, PARKED, SCRIPT


class Announcing(MemoryRunStore):
    """Says when a run was parked."""

    def __init__(self, clock: StillClock) -> None:
        super().__init__(clock)
        self.parked = asyncio.Event()

    async def park(self, grip: Grip, parking: Parking, result: bytes, order: Order) -> Unread | Refusal | None:
        try:
            return await super().park(grip, parking, result, order)
        finally:
            self.parked.set()


class Twice(Answering):
    """Says when it was asked a second time."""

    def __init__(self, parked: SliceResult) -> None:
        super().__init__(answers=[parked, SliceResult(outcome="ended", status="completed")])
        self.again = asyncio.Event()

    async def run(self, job: Job, drain: asyncio.Event) -> SliceResult:
        if self.jobs:
            self.again.set()
        return await super().run(job, drain)


async def until_parked(rig: Rig) -> None:
    assert isinstance(rig.store, Announcing)
    await rig.store.parked.wait()


@pytest.fixture
async def rig(run_id: str) -> AsyncIterator[Rig]:
    """A bench with the run begun."""
    async with await Records.in_memory() as records:
        clock = StillClock()
        rig = Rig(records=records, clock=clock, store=Announcing(clock))
        rig.more_tools = waiting_tools(rig.outside)
        await rig.begin(SCRIPT.input, run_id=run_id)
        yield rig


def bench_of(rig: Rig, workflows: Workflows) -> Bench:
    return Bench(rig, workflows, script=SCRIPT)


async def parked(rig: Rig, run_id: str, *, slice_: int = 0) -> RunView:
    """The run, parked by an executor of a workflow's slice, or an inline one."""
    mode: Transport = "workflow" if slice_ else "inline"
    await rig.runner(SCRIPT).run(Job(run_id=run_id, order=Order(1, slice_, 1), mode=mode), asyncio.Event())
    return await seen(rig, run_id)


async def seen(rig: Rig, run_id: str) -> RunView:
    view = await rig.store.view(run_id)
    assert view is not None
    return view


async def test_an_inline_run_parks_by_checkpoint_and_release(run_id: str, rig: Rig) -> None:
    """C22 LAW-P8: it holds no task, and whichever process is asked goes on with it."""
    bench = bench_of(rig, nowhere())
    view = await parked(rig, run_id)
    ended = await end_of(rig, run_id)
    await say(rig, *DECIDED, run_id=run_id)
    await bench.dispatcher.wake(run_id)
    await ended.wait()

    after = await seen(rig, run_id)
    assert (view.state, view.waiting, view.lease_ms) == ("parked", ("c1.0", "c1.1"), 0)
    assert (after.status, after.order, len(rig.outside.effects)) == ("completed", Order(2, 0, 1), 1)


async def test_a_workflow_is_told_and_goes_on_itself(client: Client, run_id: str, rig: Rig) -> None:
    """C12 C22"""
    request = await rig.begin("again", run_id="00000000-0000-4000-8000-00000000000a", conversation_id="other")
    run_id, queue = request.run_id, run_id
    bench = bench_of(rig, await connected(client, queue))
    ended = await end_of(rig, run_id)
    async with working(client, queue, rig, rig.runner(SCRIPT)), bench.dispatcher:
        await bench.dispatcher.start(request)
        await until_parked(rig)
        await say(rig, *DECIDED, run_id=run_id)
        await bench.dispatcher.wake(run_id)
        await ended.wait()

    after = await seen(rig, run_id)
    assert (after.status, after.mode, after.order.generation) == ("completed", "workflow", 1)


@pytest.mark.parametrize("temporal", ["away", "without the workflow"])
async def test_without_its_workflow_the_run_goes_on_here(client: Client, run_id: str, rig: Rig, temporal: str) -> None:
    """C8 C22: its executor is lost; an answer must not wait for a server to come back."""
    workflows = nowhere() if temporal == "away" else await connected(client, run_id)
    await parked(rig, run_id, slice_=1)
    ended = await end_of(rig, run_id)
    await say(rig, *DECIDED, run_id=run_id)
    await bench_of(rig, workflows).dispatcher.wake(run_id)
    await ended.wait()

    after = await seen(rig, run_id)
    assert (after.status, after.order) == ("completed", Order(2, 0, 1))


async def test_a_stop_of_a_parked_run_ends_it_and_its_workflow(client: Client, run_id: str, rig: Rig) -> None:
    """FR14 FR28 C18: no worker is alive; the workflow does not wait for days to learn of it."""
    request = await rig.begin("again", run_id="00000000-0000-4000-8000-00000000000b", conversation_id="other")
    run_id, queue = request.run_id, run_id
    bench = bench_of(rig, await connected(client, queue))
    ended = await end_of(rig, run_id)
    async with bench.dispatcher:
        async with working(client, queue, rig, rig.runner(SCRIPT)):
            await bench.dispatcher.start(request)
            await until_parked(rig)
        await rig.store.stop(run_id)
        await bench.dispatcher.nudge(run_id)
        await ended.wait()
        await bench.dispatcher.decided()
        async with working(client, queue, rig, rig.runner(SCRIPT)):
            result = await client.get_workflow_handle(run_id, result_type=SliceResult).result()

    assert ((await seen(rig, run_id)).status, result.status) == ("stopped", "stopped")


async def test_an_answer_while_the_executor_leaves_is_heard(run_id: str) -> None:
    """C12 C22: it had looked before, and its task is not over when the next one is asked for."""
    inline = InlineTurns(runner := Twice(PARKED))
    inline.begin(run_id, Order(1, 0, 1))
    inline.begin(run_id, Order(2, 0, 1))
    await runner.again.wait()
    await inline.drain(1)

    assert runner.orders == [(1, 0, 1), (2, 0, 1)]


async def test_a_run_that_only_lives_here_is_ended_in_time_by_nobody_else(run_id: str) -> None:
    """C6 [W8]: it counts as living here while it waits."""
    inline = InlineTurns(runner := Twice(SliceResult(outcome="parked", wait_ms=20)), resumable=False)
    inline.begin(run_id, Order(1, 0, 1))
    await asyncio.sleep(0)
    waits = inline.run_ids()
    await runner.again.wait()
    await inline.drain(1)

    assert (waits, inline.run_ids(), runner.orders) == ((run_id,), (), [(1, 0, 1), (1, 0, 1)])


async def test_a_run_of_the_memory_place_goes_on_there(run_id: str, rig: Rig) -> None:
    """C6"""
    bench = bench_of(rig, nowhere())
    ended = await end_of(rig, run_id)
    await parked(rig, run_id)
    await say(rig, *DECIDED, run_id=run_id)
    await bench.dispatcher.wake(run_id, memory=True)
    await ended.wait()

    assert (await seen(rig, run_id)).order == Order(1, 0, 1)


async def test_a_sweep_leaves_a_parked_run_alone(run_id: str, rig: Rig) -> None:
    """C7 LAW-P8: however often somebody looks."""
    await parked(rig, run_id, slice_=1)

    assert await Sweeps(rig, nowhere()).sweep(3) == []


async def test_a_sweep_finds_an_answer_that_nobody_was_told_of(run_id: str, rig: Rig) -> None:
    """C7 C12: the process died between recording it and telling."""
    await parked(rig, run_id, slice_=1)
    await say(rig, *DECIDED, run_id=run_id)

    assert (await Sweeps(rig, nowhere()).sweep())[:1] == [(run_id, "adopt")]


async def test_a_sweep_ends_the_waiting_that_nobody_else_ends(run_id: str, rig: Rig) -> None:
    """C7 LAW-P1 [W8]"""
    view = await parked(rig, run_id)
    rig.clock.now = view.until_ms

    assert (await Sweeps(rig, nowhere()).sweep())[:1] == [(run_id, "adopt")]
