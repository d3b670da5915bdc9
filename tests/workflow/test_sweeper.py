"""Which runs a sweep adopts, ends, or leaves alone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle

from checkpoints.port import ClaimRequest, Order
from protocol.errors import StoreUnavailable
from protocol.turn import ChatTurnInput
from records.records import Records
from runner.port import Job
from tests.rig import Rig, StillClock
from tests.workflow.dispatching import nowhere
from tests.workflow.durable import script_of
from tests.workflow.starting import connected
from tests.workflow.sweeping import FaultyStore, Sweeps, claimed, faulty

SCRIPT = script_of(2)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with await Records.in_memory() as records:
        clock = StillClock()
        yield Rig(records=records, clock=clock, store=FaultyStore(clock))


async def test_an_inline_run_without_its_process_is_adopted(run_id: str, rig: Rig) -> None:
    """LAW-P1 C11: after two looks without a lease, which is longer than one."""
    await rig.begin("Hello?", run_id=run_id)
    await claimed(rig, run_id, "inline")
    sweeps = Sweeps(rig, nowhere())
    once = list(await sweeps.sweep(1))

    assert (once, await sweeps.sweep(1)) == ([], [(run_id, "adopt")])


async def test_a_run_between_two_looks_that_was_claimed_meanwhile_is_left_alone(run_id: str, rig: Rig) -> None:
    """C11: somebody works on it, only not at the moments we looked."""
    await rig.begin("Hello?", run_id=run_id)
    await claimed(rig, run_id, "inline")

    async def work_a_little() -> None:
        await rig.store.claim(run_id, ClaimRequest(order=Order(2, 0, 1), owner="another", mode="inline"))
        rig.clock.now += 2_000

    assert await Sweeps(rig, nowhere()).sweep(after=work_a_little) == []


async def test_after_a_look_that_failed_the_looks_count_anew(run_id: str, rig: Rig) -> None:
    """C11 C25: a store that was away let leases lapse whose executors live."""
    await rig.begin("Hello?", run_id=run_id)
    await claimed(rig, run_id, "inline")
    sweeps = Sweeps(rig, nowhere())
    await sweeps.sweep(1)
    faulty(rig).away = True
    with pytest.raises(StoreUnavailable):
        await sweeps.sweep(1)
    faulty(rig).away = False

    assert (list(await sweeps.sweep(1)), await sweeps.sweep(1)) == ([], [(run_id, "adopt")])


async def test_a_live_run_is_left_alone(run_id: str, rig: Rig) -> None:
    await rig.begin("Hello?", run_id=run_id)
    await rig.store.claim(run_id, ClaimRequest(order=Order(1, 0, 1), owner="live", mode="inline", lease_ms=60_000))

    assert await Sweeps(rig, nowhere()).sweep() == []


async def test_a_queued_run_waits_for_its_workflow_as_long_as_it_may_take(
    client: Client, run_id: str, rig: Rig
) -> None:
    """C7: without a lease it is no orphan; past its time nobody comes for it any more."""
    await rig.begin("Hello?", run_id=run_id)
    workflows = await connected(client, run_id)
    await workflows.start(ChatTurnInput(run_id=run_id))
    sweeps = Sweeps(rig, workflows, run_ms=60_000)
    queued = list(await sweeps.sweep(11))

    assert (queued, await sweeps.sweep(2)) == ([], [(run_id, "expire")])


async def test_a_queued_run_with_a_stop_does_not_wait(client: Client, run_id: str, rig: Rig) -> None:
    """C7 C18"""
    await rig.begin("Hello?", run_id=run_id)
    workflows = await connected(client, run_id)
    await workflows.start(ChatTurnInput(run_id=run_id))
    await rig.store.stop(run_id)

    assert await Sweeps(rig, workflows).sweep() == [(run_id, "adopt_here")]


async def test_a_run_that_nobody_was_asked_to_execute_is_adopted(run_id: str, rig: Rig) -> None:
    """C11 FR16: the process died between the row and the dispatch, and no server can tell."""
    await rig.begin("Hello?", run_id=run_id)

    assert await Sweeps(rig, nowhere()).sweep() == [(run_id, "adopt")]


async def test_a_durable_run_between_slices_waits_for_its_workers(client: Client, run_id: str, rig: Rig) -> None:
    """C7 FR14: handed over in good order, and queued for however long."""
    await rig.begin(SCRIPT.input, run_id=run_id)
    workflows = await connected(client, run_id)
    await workflows.start(ChatTurnInput(run_id=run_id))
    await rig.runner(SCRIPT).run(Job(run_id=run_id, order=Order(1, 1, 1), mode="workflow", slice_ms=0), asyncio.Event())

    assert await Sweeps(rig, workflows).sweep(12) == []


async def test_a_durable_run_without_any_worker_is_adopted_here(client: Client, run_id: str, rig: Rig) -> None:
    """FR16 LAW-P1: killed in mid-slice with no replacement; within 60 s of the last sign of life, its lease included."""
    await rig.begin("Hello?", run_id=run_id)
    workflows = await connected(client, run_id)
    await workflows.start(ChatTurnInput(run_id=run_id))
    begun = rig.clock.now
    await claimed(rig, run_id, "workflow")
    sweeps = Sweeps(rig, workflows)
    while not await sweeps.sweep(1):
        pass

    assert (sweeps.done, rig.clock.now - begun < 60_000) == ([(run_id, "adopt_here")], True)


async def test_a_durable_run_outlives_a_short_silence_of_its_server(run_id: str, rig: Rig) -> None:
    """C7 LAW-P1: its workflow goes on when the server is back; after a while it is taken up without."""
    await rig.begin("Hello?", run_id=run_id)
    await claimed(rig, run_id, "workflow")
    sweeps = Sweeps(rig, nowhere())
    soon = list(await sweeps.sweep(2))

    assert (soon, await sweeps.sweep(5)) == ([], [(run_id, "adopt_here")])


async def terminate(handle: WorkflowHandle[object, object]) -> None:
    await handle.terminate()


async def time_out(handle: WorkflowHandle[object, object]) -> None:
    with pytest.raises(WorkflowFailureError):
        await handle.result()


@pytest.mark.parametrize("close", [terminate, time_out])
async def test_a_durable_run_whose_workflow_was_closed_is_adopted(
    client: Client, run_id: str, rig: Rig, close: Callable[[WorkflowHandle[object, object]], Awaitable[None]]
) -> None:
    """FR49 LAW-P1: no code of ours runs then, so the end comes from outside the workflow."""
    await rig.begin("Hello?", run_id=run_id)
    await claimed(rig, run_id, "workflow")
    handle = await client.start_workflow(
        "ChatTurn",
        ChatTurnInput(run_id=run_id),
        id=run_id,
        task_queue=run_id,
        execution_timeout=None if close is terminate else timedelta(milliseconds=100),
    )
    await close(handle)

    assert await Sweeps(rig, await connected(client, run_id)).sweep() == [(run_id, "adopt")]


async def test_a_durable_run_that_its_server_forgot_is_adopted(client: Client, run_id: str, rig: Rig) -> None:
    """LAW-P1: NotFound, as from a namespace that was made anew."""
    await rig.begin("Hello?", run_id=run_id)
    await claimed(rig, run_id, "workflow")

    assert await Sweeps(rig, await connected(client, run_id)).sweep() == [(run_id, "adopt")]


async def test_a_silent_server_is_asked_once_a_sweep(rig: Rig) -> None:
    """LAW-P1: each question takes its time, and a thousand runs wait."""
    asked: list[str] = []

    class Hung:
        async def running(self, run_id: str, generation: int) -> bool | None:
            asked.append(run_id)
            return None

    for number in range(3):
        await begin(rig, f"run-{number}")
    done = await Sweeps(rig, Hung()).sweep()  # type: ignore[arg-type] # all of it that a sweep uses

    assert (len(asked), len(done)) == (1, 3)


async def test_every_row_is_looked_at_however_many_there_are(rig: Rig) -> None:
    """C11: page by page, those that began in one millisecond included."""
    for number in range(401):
        await begin(rig, f"run-{number:03}")

    done = await Sweeps(rig, nowhere()).sweep()

    assert [name for name, _ in done] == [f"run-{number:03}" for number in range(401)]


async def begin(rig: Rig, run_id: str) -> None:
    """A run with a conversation of its own."""
    await rig.begin("Hello?", run_id=run_id, conversation_id=run_id)
