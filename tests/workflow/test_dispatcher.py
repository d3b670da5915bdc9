"""Where turns go, and that each is executed once whatever becomes of its start."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client

from checkpoints.memory import MemoryRunStore
from checkpoints.port import ClaimRequest, Order
from dispatch.decide import Decision
from dispatch.temporal import API_RETRIES, Workflows
from protocol.errors import TurnkeepError
from records.records import Records
from runner.parts import RunnerSettings
from tests.rig import Rig, StillClock
from tests.temporal import temporal_server
from tests.workflow.dispatching import SCRIPT, Bench, end_of, nowhere
from tests.workflow.durable import Gate, inline_frames, working
from tests.workflow.starting import connected, losing_answers
from workflows.connection import connect

DURABLE = Decision(transport="workflow", reason="chosen")
FELL_BACK = Decision(transport="inline", reason="start_failed")


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with await Records.in_memory() as records:
        clock = StillClock()
        # A short lease: whoever finds the run busy asks again soon. The clock stands, so it never lapses by itself.
        settings = RunnerSettings(lease_ms=100, renew_ms=20_000)
        yield Rig(records=records, clock=clock, store=MemoryRunStore(clock), settings=settings)


async def test_a_turn_runs_as_a_workflow(client: Client, run_id: str, rig: Rig) -> None:
    """REQ-F1 REQ-C11"""
    request = await rig.begin(SCRIPT.input, run_id=run_id)
    ended = await end_of(rig, run_id)
    bench = Bench(rig, await connected(client, run_id))
    async with working(client, run_id, rig, rig.runner(SCRIPT)), bench.dispatcher:
        transport = await bench.dispatcher.start(request)
        await ended.wait()

    view = await rig.store.view(run_id)
    assert view is not None
    assert (transport, bench.decisions, view.mode) == ("workflow", [DURABLE], "workflow")


async def test_switched_off_the_same_turn_runs_here(run_id: str, rig: Rig) -> None:
    """LAW-P4 REQ-C5 REQ-F4: with the frames that a workflow gives."""
    request = await rig.begin(SCRIPT.input, run_id=run_id)
    ended = await end_of(rig, run_id)
    bench = Bench(rig, nowhere(), switch="off")
    async with bench.dispatcher:
        transport = await bench.dispatcher.start(request)
        await ended.wait()

    assert (transport, bench.decisions) == ("inline", [Decision(transport="inline", reason="switched_off")])
    assert await rig.frames(run_id) == await inline_frames(SCRIPT, run_id)


async def test_an_accepted_start_whose_answer_is_lost_is_one_execution(client: Client, run_id: str, rig: Rig) -> None:
    """REQ-C2 FR13: the inline run and the workflow meet at the claim, and a repeated POST changes nothing."""
    request = await rig.begin(SCRIPT.input, run_id=run_id)
    ended = await end_of(rig, run_id)
    bench = Bench(rig, await connected(losing_answers(client), run_id))
    async with working(client, run_id, rig, rig.runner(SCRIPT)), bench.dispatcher:
        await bench.dispatcher.start(request)
        await bench.dispatcher.start(request)
        await ended.wait()
        await client.get_workflow_handle(run_id).result()

    view = await rig.store.view(run_id)
    assert view is not None
    assert (view.attempt, await rig.frames(run_id)) == (1, await inline_frames(SCRIPT, run_id))
    assert bench.decisions == [DURABLE, DURABLE, FELL_BACK, FELL_BACK]


async def test_a_repeated_post_of_a_finished_run_executes_nothing(client: Client, run_id: str, rig: Rig) -> None:
    """FR13 REQ-C3"""
    request = await rig.begin(SCRIPT.input, run_id=run_id)
    bench = Bench(rig, await connected(client, run_id))
    async with working(client, run_id, rig, rig.runner(SCRIPT)), bench.dispatcher:
        await bench.dispatcher.start(request)
        await bench.dispatcher.decided()
        await client.get_workflow_handle(run_id).result()
        await bench.dispatcher.start(request)
        await bench.dispatcher.decided()

    view = await rig.store.view(run_id)
    assert view is not None
    assert (view.attempt, bench.decisions) == (1, [DURABLE, DURABLE])


async def test_a_run_whose_workflow_was_closed_is_taken_up_here(client: Client, run_id: str, rig: Rig) -> None:
    """FR13 C8 LAW-P1: "already started" is not success where nothing runs."""
    request = await rig.begin(SCRIPT.input, run_id=run_id)
    ended = await end_of(rig, run_id)
    bench = Bench(rig, await connected(client, run_id))
    async with bench.dispatcher:
        await bench.dispatcher.start(request)
        await bench.dispatcher.decided()
        await client.get_workflow_handle(run_id).terminate()
        await bench.dispatcher.start(request)
        await ended.wait()

    assert await rig.frames(run_id) == await inline_frames(SCRIPT, run_id)


async def test_a_dead_server_costs_three_turns_and_comes_back_by_itself(tmp_path: Path, run_id: str, rig: Rig) -> None:
    """REQ-F1: each of the turns is answered, inline, and the next ones do not try."""
    request = await rig.begin(SCRIPT.input, run_id=run_id)
    with temporal_server(tmp_path) as server:
        bench = Bench(rig, Workflows(lambda: connect(server.address, retries=API_RETRIES), task_queue=run_id))
        dispatcher = bench.dispatcher
        await dispatcher.probe()
        await dispatcher.start(request)
        await dispatcher.decided()
        server.kill()
        for _ in range(4):
            await dispatcher.start(request)
            await dispatcher.decided()
        during = await dispatcher.status()
        server.start()
        await dispatcher.probe()
        await dispatcher.start(request)
        await dispatcher.drain()

    refused = Decision(transport="inline", reason="breaker_open")
    assert bench.decisions == [DURABLE, *[DURABLE, FELL_BACK] * 3, refused, DURABLE]
    assert during["breaker"] == "open"


async def test_a_flip_is_seen_by_a_process_that_nobody_told(run_id: str, rig: Rig) -> None:
    """REQ-F2: within two seconds."""
    bench = Bench(rig, nowhere())
    async with bench.dispatcher:
        await bench.stored.set("off")
        await asyncio.wait_for(bench.changed.wait(), timeout=2)

    assert (await bench.dispatcher.status())["switch"] == "off"


async def test_the_switch_is_set_for_all_and_counts_here_at_once(rig: Rig) -> None:
    """REQ-F2 FR80"""
    bench = Bench(rig, nowhere())
    status = await bench.dispatcher.set_switch({"switch": {"percent": 10, "allow": ["ada"]}})
    with pytest.raises(TurnkeepError) as refused:
        await bench.dispatcher.set_switch({"switch": "flase"})

    assert status == {
        "switch": {"percent": 10, "allow": ["ada"]},
        "breaker": "open",
        "inline": 0,
        "memory": 0,
        "late": 0,
    }
    assert (refused.value.kind, await bench.stored.get()) == ("invalid", '{"percent": 10, "allow": ["ada"]}')


async def test_a_stop_that_no_executor_sees_is_settled_here(run_id: str, rig: Rig) -> None:
    """C18: no worker is alive, and the reader gets an end nevertheless."""
    await rig.begin(SCRIPT.input, run_id=run_id)
    ended = await end_of(rig, run_id)
    bench = Bench(rig, nowhere())
    await rig.store.stop(run_id)
    await bench.dispatcher.nudge(run_id)
    await ended.wait()

    view = await rig.store.view(run_id)
    assert view is not None
    assert (view.status, view.order) == ("stopped", Order(1, 0, 1))


async def test_a_dead_executor_s_lease_is_waited_for_before_its_run_is_settled(run_id: str, rig: Rig) -> None:
    """C18 C4: the adopter's order is above every order of the dead one's generation."""
    await rig.begin(SCRIPT.input, run_id=run_id)
    dead = ClaimRequest(order=Order(1, 3, 2), owner="dead", mode="workflow", lease_ms=10)
    await rig.store.claim(run_id, dead)
    ended = await end_of(rig, run_id)
    bench = Bench(rig, nowhere())
    await rig.store.stop(run_id)
    await bench.dispatcher.nudge(run_id)
    await asyncio.sleep(0)  # it has looked and found the lease
    rig.clock.now += 10
    await ended.wait()

    view = await rig.store.view(run_id)
    assert view is not None
    assert (view.status, view.order) == ("stopped", Order(2, 0, 1))


async def test_a_live_executor_is_left_alone(run_id: str, rig: Rig) -> None:
    """C18: it sees the stop itself."""
    await rig.begin(SCRIPT.input, run_id=run_id)
    await rig.store.claim(run_id, ClaimRequest(order=Order(1, 1, 1), owner="live", mode="workflow", lease_ms=10))
    bench = Bench(rig, nowhere())
    await rig.store.stop(run_id)
    await bench.dispatcher.nudge(run_id)
    await bench.dispatcher.decided()

    assert (await bench.dispatcher.status())["inline"] == 0


async def test_a_run_on_the_memory_store_is_never_offered_to_the_server(client: Client, run_id: str, rig: Rig) -> None:
    """C6"""
    request = await rig.begin(SCRIPT.input, run_id=run_id)
    ended = await end_of(rig, run_id)
    workflows = await connected(client, run_id)
    bench = Bench(rig, workflows)
    async with bench.dispatcher:
        await bench.dispatcher.start_memory(request)
        await ended.wait()

    assert (bench.decisions, await workflows.running(run_id, 1)) == ([], False)


async def test_a_process_that_leaves_hands_its_turns_over(run_id: str, rig: Rig) -> None:
    """C22 LAW-P2: at the next boundary, by checkpoint and release; another process goes on."""
    gate = rig.pace = Gate(1)
    request = await rig.begin(SCRIPT.input, run_id=run_id)
    leaving = Bench(rig, nowhere(), switch="off").dispatcher
    await leaving.start(request)
    await gate.reached.wait()
    drained = asyncio.create_task(leaving.drain())
    await asyncio.sleep(0)
    gate.open.set()
    await drained
    handed_over = await rig.store.view(run_id)
    ended = await end_of(rig, run_id)
    await Bench(rig, nowhere()).dispatcher.nudge(run_id)
    await ended.wait()

    assert handed_over is not None
    assert (handed_over.state, handed_over.lease_ms) == ("running", 0)
    assert await rig.frames(run_id) == await inline_frames(SCRIPT, run_id)
