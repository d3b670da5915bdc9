"""Which runs a sweep ends, and that it gets to the end of its list."""

from collections.abc import AsyncIterator

import pytest

from checkpoints.memory import MemoryRunStore
from checkpoints.port import Claimed, ClaimRequest, Order
from checkpoints.waiting import Parking
from dispatch.temporal import Workflows
from protocol.errors import TurnkeepError
from records.records import Records
from records.values import Key, Settlement, TurnBegin
from tests.away import AwayRecords, records_of
from tests.rig import Rig, StillClock
from tests.workflow.dispatching import nowhere
from tests.workflow.durable import script_of
from tests.workflow.sweeping import SWEEP_MS, FaultyStore, Sweeps, faulty
from workflows.connection import connect

TALK = Key(owner="ada", conversation_id="talk")
SCRIPT = script_of(2)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with await AwayRecords.in_memory() as records:
        clock = StillClock()
        yield Rig(records=records, clock=clock, store=FaultyStore(clock))


@pytest.mark.parametrize("lost", ["keys", "process"])
async def test_a_run_of_which_only_the_row_is_left_ends_as_interrupted(run_id: str, rig: Rig, lost: str) -> None:
    """LAW-P1 C6 FR16: within a minute its conversation takes the next message. Nobody runs it again."""
    await rig.begin("Hello?", run_id=run_id)
    begun = rig.clock.now
    if lost == "process":
        await rig.records.mark_memory(run_id)
    else:
        rig.store = MemoryRunStore(rig.clock)
    sweeps = Sweeps(rig, nowhere())
    await sweeps.sweep(8)
    before = await rig.records.active_run(TALK)
    while not await sweeps.sweep(1):
        pass
    run = await rig.records.run(run_id)

    assert (sweeps.done, run and run.status, run and run.kind) == ([(run_id, "lost")], "interrupted", "interrupted")
    assert [before and before.run_id, await rig.records.active_run(TALK)] == [run_id, None]
    assert rig.clock.now - begun < 60_000


async def test_a_memory_run_whose_process_lives_and_has_a_late_clock_is_left_alone(run_id: str, rig: Rig) -> None:
    """FR47 C6: the row says that it changed a minute and a half ago, by a clock that is not ours."""
    await rig.begin("Hello?", run_id=run_id)
    await rig.records.mark_memory(run_id)

    async def touch() -> None:
        await rig.records.running(run_id, "inline", rig.clock.now - 90_000)

    await touch()

    assert await Sweeps(rig, nowhere()).sweep(20, after=touch) == []


async def test_a_run_without_its_keys_is_not_ended_because_the_records_were_away(run_id: str, rig: Rig) -> None:
    """C25: its process could not say that it lives; the time is counted from the records' return."""
    await rig.begin("Hello?", run_id=run_id)
    await rig.records.mark_memory(run_id)
    sweeps = Sweeps(rig, nowhere())
    await sweeps.sweep(1)
    records_of(rig).away = True
    rig.clock.now += 70_000
    with pytest.raises(TurnkeepError):
        await sweeps.sweep(1)
    records_of(rig).away = False

    assert await sweeps.sweep(1) == []


async def test_keys_that_an_executor_puts_back_in_time_are_no_loss(run_id: str, rig: Rig) -> None:
    """C5: an old run, of which it was not yet seen how long its keys are gone."""
    request = await rig.begin("Hello?", run_id=run_id)
    rig.clock.now += 3_600_000
    rig.store = MemoryRunStore(rig.clock)
    sweeps = Sweeps(rig, nowhere())
    await sweeps.sweep(8)
    await rig.store.open(run_id, request.model_dump_json().encode())
    await rig.store.claim(run_id, ClaimRequest(order=Order(1, 1, 2), owner="live", mode="workflow", lease_ms=60_000))

    assert await sweeps.sweep(2) == []


async def test_a_run_that_ended_without_its_row_is_settled_from_its_seal(run_id: str, rig: Rig) -> None:
    """C3 C24: the database lost a commit, in a failover or to a restored backup."""
    await rig.begin(SCRIPT.input, run_id=run_id)
    await rig.run(SCRIPT, run_id=run_id)
    ended = rig.records
    async with await Records.in_memory() as restored:
        rig.records = restored
        await restored.begin(
            TurnBegin(
                key=TALK,
                run_id=run_id,
                assistant="bench",
                user_message_id="usr",
                message_id="msg_" + run_id.replace("-", ""),
                parts=({"type": "text", "text": SCRIPT.input},),
                now_ms=rig.clock.now_ms(),
                create_if_missing=True,
            )
        )
        done = await Sweeps(rig, nowhere()).sweep(1)
        run, before = await restored.run(run_id), await ended.run(run_id)

        assert (done, run and run.status, await restored.active_run(TALK)) == ([], before and before.status, None)


class Counting(Workflows):
    """A server on which every workflow is open. `asked` counts the questions."""

    asked = 0

    async def running(self, run_id: str, generation: int) -> bool | None:
        self.asked += 1
        return True


async def test_a_run_that_waits_for_days_is_asked_about_ever_more_seldom(run_id: str, rig: Rig) -> None:
    """LAW-P8: an answer or a stop does not wait for that."""
    await rig.begin("Hello?", run_id=run_id)
    order = Order(1, 1, 1)
    claim = await rig.store.claim(run_id, ClaimRequest(order=order, owner="executor", mode="workflow"))
    assert isinstance(claim, Claimed)
    waiting = Parking(taken=0, until_ms=rig.clock.now + 1_000_000_000, waiting=("c1.0",))
    await rig.store.park(claim.grip, waiting, b"{}", order)
    workflows = Counting(lambda: connect("127.0.0.1:1"), task_queue="nowhere")
    sweeps = Sweeps(rig, workflows)
    hour = 3_600_000 // SWEEP_MS

    await sweeps.sweep(hour)
    first = workflows.asked
    await sweeps.sweep(hour)
    second = workflows.asked - first
    await rig.store.stop(run_id)

    assert (first, second, await sweeps.sweep(2)) == (15, 12, [(run_id, "adopt_here")])


async def test_one_run_s_trouble_keeps_no_sweep_from_the_others(rig: Rig) -> None:
    """LAW-P1"""
    for name in ("run-a", "run-b"):
        await rig.begin("Hello?", run_id=name, conversation_id=name)
    faulty(rig).broken = "run-a"

    assert await Sweeps(rig, nowhere()).sweep() == [("run-b", "adopt")]


async def test_a_settlement_that_comes_second_changes_nothing(run_id: str, rig: Rig) -> None:
    """C3: many processes sweep at once."""
    await rig.begin("Hello?", run_id=run_id)
    rig.store = MemoryRunStore(rig.clock)
    many = [Sweeps(rig, nowhere()) for _ in range(3)]
    for _ in range(10):
        for sweeps in many:
            await sweeps.sweep(1)
    settlement = Settlement(status="completed", now_ms=rig.clock.now_ms())

    assert (
        [sweeps.done for sweeps in many].count([(run_id, "lost")]),
        await rig.records.settle(run_id, settlement),
    ) == (1, False)
