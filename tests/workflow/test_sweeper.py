"""Which runs a sweep adopts, ends, or leaves alone."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from temporalio.client import Client

from checkpoints.memory import MemoryRunStore
from checkpoints.port import ClaimRequest, Order, RunView
from dispatch.sweeper import Sweeper
from dispatch.temporal import Workflows
from protocol.errors import TurnkeepError
from protocol.turn import ChatTurnInput, Transport
from records.records import Records
from records.values import Key
from tests.rig import Rig, StillClock
from tests.workflow.dispatching import nowhere
from tests.workflow.starting import connected

TALK = Key(owner="ada", conversation_id="talk")


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with await Records.in_memory() as records:
        clock = StillClock()
        yield Rig(records=records, clock=clock, store=MemoryRunStore(clock))


async def adopted(
    rig: Rig, workflows: Workflows, *, sweeps: int = 2, after: Callable[[], Awaitable[None]] | None = None
) -> list[str]:
    """The runs that these sweeps adopt, five seconds apart. `after` is what happens after each."""
    found: list[str] = []

    def adopt(run_id: str, _: RunView) -> None:
        found.append(run_id)

    sweeper = Sweeper(records=rig.records, store=rig.store, workflows=workflows, adopt=adopt, clock=rig.clock)
    for _ in range(sweeps):
        rig.clock.now += 5_001
        await sweeper.sweep()
        if after is not None:
            await after()
    return found


async def claimed(rig: Rig, run_id: str, mode: Transport) -> None:
    """The run as an executor left it that died a while ago."""
    order = Order(1, 1, 1) if mode == "workflow" else Order(1, 0, 1)
    await rig.store.claim(run_id, ClaimRequest(order=order, owner="dead", mode=mode))
    rig.clock.now += 2_000


async def test_an_inline_run_without_its_process_is_adopted(run_id: str, rig: Rig) -> None:
    """LAW-P1 C11: after two looks without a lease, which is longer than one."""
    await rig.begin("Hello?", run_id=run_id)
    await claimed(rig, run_id, "inline")
    once = await adopted(rig, nowhere(), sweeps=1)

    assert (once, await adopted(rig, nowhere())) == ([], [run_id])


async def test_a_run_between_two_looks_that_was_claimed_meanwhile_is_left_alone(run_id: str, rig: Rig) -> None:
    """C11: somebody works on it, only not at the moments we looked."""
    await rig.begin("Hello?", run_id=run_id)
    await claimed(rig, run_id, "inline")

    async def work_a_little() -> None:
        await rig.store.claim(run_id, ClaimRequest(order=Order(2, 0, 1), owner="another", mode="inline"))
        rig.clock.now += 2_000

    assert await adopted(rig, nowhere(), after=work_a_little) == []


async def test_a_live_run_is_left_alone(run_id: str, rig: Rig) -> None:
    await rig.begin("Hello?", run_id=run_id)
    await rig.store.claim(run_id, ClaimRequest(order=Order(1, 0, 1), owner="live", mode="inline", lease_ms=60_000))

    assert await adopted(rig, nowhere()) == []


async def test_a_queued_run_waits_for_its_workflow(client: Client, run_id: str, rig: Rig) -> None:
    """C7: without a lease it is no orphan, as long as its workflow is open."""
    await rig.begin("Hello?", run_id=run_id)
    workflows = await connected(client, run_id)
    await workflows.start(ChatTurnInput(run_id=run_id))
    queued = await adopted(rig, workflows)
    await client.get_workflow_handle(run_id).terminate()

    assert (queued, await adopted(rig, workflows)) == ([], [run_id])


async def test_a_queued_run_with_a_stop_does_not_wait(client: Client, run_id: str, rig: Rig) -> None:
    """C7 C18"""
    await rig.begin("Hello?", run_id=run_id)
    workflows = await connected(client, run_id)
    await workflows.start(ChatTurnInput(run_id=run_id))
    await rig.store.stop(run_id)

    assert await adopted(rig, workflows) == [run_id]


async def test_a_run_that_nobody_was_asked_to_execute_is_adopted(run_id: str, rig: Rig) -> None:
    """C11: the process died between the row and the dispatch, and no server can tell."""
    await rig.begin("Hello?", run_id=run_id)

    assert await adopted(rig, nowhere()) == [run_id]


async def test_a_durable_run_is_not_adopted_because_the_server_is_away(run_id: str, rig: Rig) -> None:
    """C7: its workflow goes on when the server is back."""
    await rig.begin("Hello?", run_id=run_id)
    await claimed(rig, run_id, "workflow")

    assert await adopted(rig, nowhere()) == []


async def test_a_durable_run_whose_workflow_was_terminated_is_adopted(client: Client, run_id: str, rig: Rig) -> None:
    """FR49 LAW-P1: termination runs no code of ours, so the end comes from outside the workflow."""
    await rig.begin("Hello?", run_id=run_id)
    await claimed(rig, run_id, "workflow")
    workflows = await connected(client, run_id)
    await workflows.start(ChatTurnInput(run_id=run_id))
    await client.get_workflow_handle(run_id).terminate()

    assert await adopted(rig, workflows) == [run_id]


@pytest.mark.parametrize("lost", ["keys", "process"])
async def test_a_run_of_which_only_the_row_is_left_ends_as_interrupted(run_id: str, rig: Rig, lost: str) -> None:
    """LAW-P1 C6: a minute later its conversation takes the next message. Nobody runs it again."""
    await rig.begin("Hello?", run_id=run_id)
    if lost == "process":
        await rig.records.mark_memory(run_id)
    else:
        rig.store = MemoryRunStore(rig.clock)
    active: list[bool] = []

    async def look() -> None:
        active.append(await rig.records.active_run(TALK) is not None)

    found = await adopted(rig, nowhere(), sweeps=13, after=look)
    run = await rig.records.run(run_id)

    assert (found, run and run.status, run and run.kind) == ([], "interrupted", "interrupted")
    assert active == [True] * 12 + [False]


async def test_a_memory_run_whose_process_lives_and_has_a_late_clock_is_left_alone(run_id: str, rig: Rig) -> None:
    """FR47 C6: the row says that it changed a minute and a half ago, by a clock that is not ours."""
    await rig.begin("Hello?", run_id=run_id)
    await rig.records.mark_memory(run_id)

    async def touch() -> None:
        await rig.records.running(run_id, "inline", rig.clock.now - 90_000)

    await touch()
    found = await adopted(rig, nowhere(), sweeps=20, after=touch)
    run = await rig.records.run(run_id)

    assert (found, run and run.status) == ([], "running")


async def test_a_run_without_its_keys_is_not_ended_because_the_records_were_away(run_id: str, rig: Rig) -> None:
    """C25: its process could not say that it lives; the time is counted from the records' return."""
    await rig.begin("Hello?", run_id=run_id)
    await rig.records.mark_memory(run_id)
    clock, here = rig.clock, rig.records
    sweeper = Sweeper(records=here, store=rig.store, workflows=nowhere(), adopt=lambda *_: None, clock=clock)
    clock.now += 5_001
    await sweeper.sweep()
    async with Records("sqlite:////no/such/folder/records.sqlite3") as away:
        sweeper._records = away
        clock.now += 70_000
        with pytest.raises(TurnkeepError):
            await sweeper.sweep()
    sweeper._records = here
    await sweeper.sweep()
    run = await here.run(run_id)

    assert run is not None
    assert run.status == "accepted"
