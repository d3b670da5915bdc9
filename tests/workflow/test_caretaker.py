"""What becomes of orphans, end to end: taken up by a workflow or here, and ended (LAW-P1)."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from checkpoints.port import ClaimRequest, Order
from dispatch.temporal import workflow_id
from protocol.errors import LostClaim
from protocol.turn import ChatTurnInput, SliceResult, Transport
from records.records import Records
from records.values import Key
from runner.parts import RunnerSettings, no_fault
from runner.port import Job
from tests.rig import Rig, StillClock
from tests.workflow.dispatching import SCRIPT, Bench, end_of, nowhere
from tests.workflow.durable import inline_frames, working
from tests.workflow.starting import connected
from tests.workflow.sweeping import SWEEP_MS, FaultyStore

TALK = Key(owner="ada", conversation_id="talk")


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with await Records.in_memory() as records:
        clock = StillClock()
        settings = RunnerSettings(lease_ms=2_000, renew_ms=20_000)
        yield Rig(records=records, clock=clock, store=FaultyStore(clock), settings=settings)


async def sweep(rig: Rig, bench: Bench, times: int = 2) -> None:
    """So many sweeps of the process, five seconds apart, and what they begin begun."""
    for _ in range(times):
        rig.clock.now += SWEEP_MS
        await bench.dispatcher.care.sweep()
        await bench.dispatcher.decided()


async def first_slice(rig: Rig, run_id: str, mode_inline: bool = True) -> None:
    """The turn at its second step, handed over by a process that left."""
    drain = asyncio.Event()
    drain.set()
    await rig.begin(SCRIPT.input, run_id=run_id)
    order = Order(1, 0, 1) if mode_inline else Order(1, 1, 1)
    job = Job(run_id=run_id, order=order, mode="inline" if mode_inline else "workflow", slice_ms=0)
    result = await rig.runner(SCRIPT).run(job, drain)
    assert result.outcome == "handed_over"


async def test_an_inline_orphan_goes_on_as_a_workflow_from_its_checkpoint(
    client: Client, run_id: str, rig: Rig
) -> None:
    """LAW-P1 LAW-P2 C8 C22: under the next generation, where the switch allows."""
    await first_slice(rig, run_id)
    bench = Bench(rig, await connected(client, run_id))
    await bench.dispatcher.probe()
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        await sweep(rig, bench)
        result: SliceResult = await client.get_workflow_handle(workflow_id(run_id, 2), result_type=SliceResult).result()

    view = await rig.store.view(run_id)
    assert view is not None
    assert (result.status, view.mode, view.order) == ("completed", "workflow", Order(2, 1, 1))
    assert await rig.frames(run_id) == await inline_frames(SCRIPT, run_id)


@pytest.mark.parametrize("why", ["switched off", "no server"])
async def test_otherwise_it_goes_on_here(client: Client, run_id: str, rig: Rig, why: str) -> None:
    """LAW-P1 C22"""
    await first_slice(rig, run_id)
    ended = await end_of(rig, run_id)
    workflows = nowhere() if why == "no server" else await connected(client, run_id)
    bench = Bench(rig, workflows, switch="off" if why == "switched off" else "on")
    await bench.watch.refresh()
    await bench.dispatcher.probe()
    await sweep(rig, bench)
    await ended.wait()

    assert await rig.frames(run_id) == await inline_frames(SCRIPT, run_id)
    assert await rig.records.active_run(TALK) is None


async def test_a_terminated_run_goes_on_under_the_next_generation(client: Client, run_id: str, rig: Rig) -> None:
    """FR49 C8 LAW-P1: from its checkpoint; and its conversation takes the next message."""
    await first_slice(rig, run_id, mode_inline=False)
    workflows = await connected(client, run_id)
    await workflows.start(ChatTurnInput(run_id=run_id))
    await client.get_workflow_handle(run_id).terminate()
    bench = Bench(rig, workflows)
    await bench.dispatcher.probe()
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        await sweep(rig, bench)
        await client.get_workflow_handle(workflow_id(run_id, 2)).result()

    assert await rig.frames(run_id) == await inline_frames(SCRIPT, run_id)
    assert await rig.records.active_run(TALK) is None


async def test_of_many_processes_that_sweep_at_once_one_executes(client: Client, run_id: str, rig: Rig) -> None:
    """C8 REQ-C2: the start is joined, whoever comes second."""
    await first_slice(rig, run_id)
    workflows = await connected(client, run_id)
    benches = [Bench(rig, workflows) for _ in range(3)]
    for bench in benches:
        await bench.dispatcher.probe()
        await bench.dispatcher.care.sweep()
    rig.clock.now += SWEEP_MS
    for bench in benches:
        await bench.dispatcher.care.sweep()
    rig.clock.now += SWEEP_MS
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        await asyncio.gather(*(bench.dispatcher.care.sweep() for bench in benches))
        await asyncio.gather(*(bench.dispatcher.decided() for bench in benches))
        await client.get_workflow_handle(workflow_id(run_id, 2)).result()

    view = await rig.store.view(run_id)
    assert view is not None
    assert (view.attempt, await rig.frames(run_id)) == (2, await inline_frames(SCRIPT, run_id))


@pytest.mark.parametrize("mode", ["inline", "workflow"])
async def test_a_run_whose_executor_died_before_the_last_frame_is_finished(
    run_id: str, rig: Rig, mode: Transport
) -> None:
    """LAW-P1 C3: its answer is stored, so its row says that it has ended; its readers wait, and its keys would stay."""

    async def die(point: str) -> None:
        if point == "stored":
            raise LostClaim

    await rig.begin(SCRIPT.input, run_id=run_id)
    ended = await end_of(rig, run_id)
    rig.fault = die
    await rig.runner(SCRIPT).run(Job(run_id=run_id, order=Order(1, 1, 1), mode=mode), asyncio.Event())
    rig.fault = no_fault
    before = await rig.records.run(run_id)
    bench = Bench(rig, nowhere())
    await sweep(rig, bench, times=3)
    await ended.wait()
    await sweep(rig, bench, times=1)

    assert (before and before.status, await rig.records.unfinished(rig.clock.now, 9)) == ("completed", ())
    assert await rig.frames(run_id) == await inline_frames(SCRIPT, run_id)


async def test_workflows_that_close_without_a_claim_are_not_started_for_ever(
    client: Client, run_id: str, rig: Rig
) -> None:
    """LAW-P1 C8: each of them is closed when it is looked for, so the turn is executed here."""
    await rig.begin(SCRIPT.input, run_id=run_id)
    ended = await end_of(rig, run_id)
    workflows = await connected(client, run_id)
    for generation in (1, 2, 3):
        await workflows.start(ChatTurnInput(run_id=run_id, generation=generation))
        await client.get_workflow_handle(workflow_id(run_id, generation)).terminate()
    bench = Bench(rig, workflows)
    await bench.dispatcher.probe()
    await sweep(rig, bench)
    await ended.wait()

    view = await rig.store.view(run_id)
    assert view is not None
    assert (view.mode, await workflows.running(run_id, 4)) == ("inline", False)


async def test_an_overdue_run_ends_as_timed_out(client: Client, run_id: str, rig: Rig) -> None:
    """C7 LAW-P1 FR16: queued, and nobody ever comes."""
    await rig.begin(SCRIPT.input, run_id=run_id)
    ended = await end_of(rig, run_id)
    workflows = await connected(client, run_id)
    await workflows.start(ChatTurnInput(run_id=run_id))
    bench = Bench(rig, workflows, run_ms=60_000)
    await sweep(rig, bench, times=14)
    await ended.wait()

    run = await rig.records.run(run_id)
    assert (run and run.status, run and run.kind, await rig.records.active_run(TALK)) == ("failed", "timeout", None)


async def exhaust(rig: Rig, run_id: str) -> None:
    """As many claims as a run gets, each by somebody who died of it."""
    for number in range(1, 6):
        claim = ClaimRequest(order=Order(1, 0, number), owner=f"dead {number}", mode="inline", lease_ms=0)
        await rig.store.claim(run_id, claim)


@pytest.mark.parametrize("where", ["workflow", "here"])
async def test_an_exhausted_run_ends_wherever_it_is_adopted(client: Client, run_id: str, rig: Rig, where: str) -> None:
    """C16 FR16 REQ-D8: and its conversation takes the next message."""
    await rig.begin(SCRIPT.input, run_id=run_id)
    await exhaust(rig, run_id)
    ended = await end_of(rig, run_id)
    bench = Bench(rig, await connected(client, run_id), switch="on" if where == "workflow" else "off")
    await bench.watch.refresh()
    await bench.dispatcher.probe()
    async with working(client, run_id, rig, rig.runner(SCRIPT)):
        await sweep(rig, bench)
        await ended.wait()

    run = await rig.records.run(run_id)
    assert (run and run.status, await rig.records.active_run(TALK)) == ("interrupted", None)
