"""Who may put a run back whose keys are gone, and what the end of one is that nobody can put back (C5)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Self

import pytest
from sqlalchemy import Connection, update

from checkpoints.memory import MemoryRunStore
from checkpoints.port import Appended, Claimed, ClaimRequest, Grip, Order, Refusal, Remains
from protocol.checkpoint import Message, Outcome, Seal
from protocol.errors import StoreUnavailable, TurnkeepError
from protocol.turn import SliceResult
from records.records import Records
from records.schema import conversations
from records.values import Run, Settlement
from runner.hold import Hold
from runner.observe import Silent
from runner.port import Job
from runner.restore import end_missing, over
from runner.turn import Runner
from tests.forgetful import Forgetful
from tests.rig import NOW_MS, RUN_ID, Rig, StillClock
from tests.unit.test_lost_and_found import attempt, script_of

SCRIPT = script_of("chunk_joins")
INTERRUPTED = Settlement(status="interrupted", kind="interrupted", now_ms=NOW_MS)


class Slow(Records):
    """Records that are away for the first questions about a run."""

    away = 3

    async def run(self, run_id: str) -> Run | None:
        if self.away:
            self.away -= 1
            raise TurnkeepError("unavailable", "The database does not answer.")
        return await super().run(run_id)


@dataclass
class Flushed:
    """A rig whose store loses everything once the first step stands."""

    rig: Rig
    store: MemoryRunStore

    @classmethod
    async def begun(cls, records: Records) -> Self:
        clock = StillClock()
        store = MemoryRunStore(clock)
        rig = Rig(records=records, clock=clock, store=store)
        await rig.begin(SCRIPT.input)
        return cls(rig, store)

    def then(self, follow: Callable[[], Awaitable[object]]) -> None:
        """Lose everything once the first step stands, and do what follows."""

        async def fault(point: str) -> None:
            if point == "boundary:open":
                self.store._runs.clear()
                await follow()

        self.rig.fault = fault


async def nothing() -> None:
    """Nothing follows."""


@pytest.fixture
async def records() -> AsyncIterator[Slow]:
    async with await Slow.in_memory() as records:
        records.away = 0
        yield records


async def test_a_run_that_ended_meanwhile_is_not_put_back(records: Records) -> None:
    """C5: an operator ended it, or it was deleted with its owner; the executor stops without a word."""
    flushed = await Flushed.begun(records)

    flushed.then(lambda: records.settle(RUN_ID, INTERRUPTED))

    assert await attempt(flushed.rig, SCRIPT) == SliceResult(outcome="stale")
    assert await flushed.store.view(RUN_ID) is None


async def test_a_deleted_conversations_run_is_not_put_back(records: Records) -> None:
    """C5"""
    flushed = await Flushed.begun(records)

    def delete(connection: Connection) -> None:
        connection.execute(update(conversations).values(deleted_ms=1))

    flushed.then(lambda: records._database.write(delete))

    assert await attempt(flushed.rig, SCRIPT) == SliceResult(outcome="stale")
    assert await flushed.store.view(RUN_ID) is None


async def test_a_run_deleted_while_it_is_put_back_goes_again(records: Records) -> None:
    """C5: the records are asked before and after, and nothing of it stays."""
    flushed = await Flushed.begun(records)

    class Overtaken(MemoryRunStore):
        async def restore(self, grip: Grip, claim: ClaimRequest, remains: Remains) -> Claimed | Refusal:
            await records.settle(RUN_ID, INTERRUPTED)
            return await super().restore(grip, claim, remains)

    store = Overtaken(flushed.rig.clock)
    store._runs = flushed.store._runs
    flushed.rig.store = store
    flushed.then(nothing)

    assert await attempt(flushed.rig, SCRIPT) == SliceResult(outcome="stale")
    assert await store.view(RUN_ID) is None


async def test_without_the_records_the_run_is_held_until_they_answer(records: Slow) -> None:
    """C5: and then put back."""
    flushed = await Flushed.begun(records)

    async def away() -> None:
        records.away = 3

    flushed.then(away)
    result = await attempt(flushed.rig, SCRIPT)

    assert (result.outcome, result.status, records.away) == ("ended", "completed", 0)


async def test_who_slept_through_its_lease_does_not_put_a_run_back(records: Records) -> None:
    """C5, C14: it may have been replaced before the keys went."""
    flushed = await Flushed.begun(records)

    async def sleep() -> None:
        flushed.rig.clock.now += flushed.rig.settings.lease_ms + 1

    flushed.then(sleep)

    assert await attempt(flushed.rig, SCRIPT) == SliceResult(outcome="stale")
    assert await flushed.store.view(RUN_ID) is None


async def test_of_a_run_put_back_the_older_grip_writes_nothing(records: Records) -> None:
    """C5: a zombie wakes up after the run was put back, and stops its turn."""
    flushed = await Flushed.begun(records)
    woken, slept = asyncio.Event(), asyncio.Event()

    async def wait(point: str) -> None:
        if point == "boundary:open" and not slept.is_set():
            slept.set()
            await woken.wait()

    flushed.rig.fault = wait
    zombie = asyncio.create_task(attempt(flushed.rig, SCRIPT, 1))
    await slept.wait()
    flushed.rig.clock.now += flushed.rig.settings.lease_ms + 1
    flushed.then(nothing)
    result = await attempt(flushed.rig, SCRIPT, 2)
    frames = await flushed.rig.frames()
    woken.set()

    assert (await zombie, result.outcome) == (SliceResult(outcome="stale"), "ended")
    assert await flushed.rig.frames() == frames


async def test_a_run_that_nobody_can_put_back_ends_as_interrupted(records: Records) -> None:
    """C5, LAW-P1: a cold attempt finds its keys missing and leaves it; who gives the run up ends it in the records."""
    flushed = await Flushed.begun(records)
    flushed.store._runs.clear()
    runner = flushed.rig.runner(SCRIPT)

    assert await attempt(flushed.rig, SCRIPT) == SliceResult(outcome="missing")
    assert await runner.fail(RUN_ID, Order(1, 2, 1), "interrupted") == SliceResult(
        outcome="ended", status="interrupted"
    )
    assert await end_missing(flushed.rig.parts(SCRIPT), RUN_ID) == SliceResult(outcome="ended", status="interrupted")
    assert await end_missing(flushed.rig.parts(SCRIPT), "unknown") == SliceResult(outcome="missing")
    assert await flushed.store.view(RUN_ID) is None


async def test_a_run_whose_answer_waits_for_the_records_is_not_gone_on_with(records: Records) -> None:
    """C9 C24: the store went back to before its seal, and the records were away; the outbox knows how it ended."""
    flushed = await Flushed.begun(records)
    parts, job = flushed.rig.parts(SCRIPT), Job(run_id=RUN_ID, order=Order(2, 0, 1), mode="inline")
    claimed = await flushed.store.claim(RUN_ID, ClaimRequest(order=job.order, owner="next", mode="inline"))
    assert isinstance(claimed, Claimed)
    outcome = Outcome(status="completed", finish_reason="stop")
    await parts.outbox.keep(RUN_ID, Seal(outcome=outcome, message=Message(id="msg")).model_dump_json().encode())

    result = await over(parts, Hold(parts, job, claimed, since_ms=NOW_MS))

    assert result == SliceResult(outcome="ended", status="completed")
    assert await flushed.store.view(RUN_ID) is None


async def test_a_run_on_another_process_memory_is_not_ended(records: Records) -> None:
    """C6"""
    flushed = await Flushed.begun(records)
    flushed.store._runs.clear()
    await records.mark_memory(RUN_ID)

    assert await end_missing(flushed.rig.parts(SCRIPT), RUN_ID) == SliceResult(outcome="stale")


async def test_a_store_that_lost_the_seal_gets_it_again(records: Slow) -> None:
    """C3, C24: nobody has the answer then but its executor."""
    flushed = await Flushed.begun(records)
    flushed.rig.settings = replace(flushed.rig.settings, records_patience_ms=0)
    settle, times = records.settle, iter(range(2))

    async def lose(point: str) -> None:
        if point == "stored" and next(times) == 0:
            flushed.store._runs.clear()
            records.settle = settle  # type: ignore[method-assign] # the database is back

    async def away(run_id: str, settlement: Settlement) -> bool:
        raise TurnkeepError("unavailable", f"The database does not answer for {run_id}, {settlement.status}.")

    records.settle = away  # type: ignore[method-assign] # the database is away
    flushed.rig.fault = lose
    result = await attempt(flushed.rig, SCRIPT)

    kinds = [frame["type"] for frame in await flushed.rig.frames()]
    run = await records.run(RUN_ID)
    assert run is not None
    assert (result.status, run.status, kinds[-1]) == ("completed", "completed", "finish")


async def test_a_store_that_stays_away_leaves_the_run_to_the_next_attempt(records: Slow) -> None:
    """FR18, LAW-P1: said aloud, and ended well by who comes when it is back."""
    flushed = await Flushed.begun(records)
    rig, told = flushed.rig, Told()
    rig.settings = replace(rig.settings, store_patience_ms=0)
    store = Forgetful(rig.clock, at=3, silent=2)
    store._runs, rig.store = flushed.store._runs, store
    parts = replace(rig.parts(SCRIPT), observer=told)

    with pytest.raises(StoreUnavailable):
        await Runner(parts).run(Job(run_id=RUN_ID, order=Order(1, 1, 1), mode="workflow"), asyncio.Event())
    rig.clock.now += rig.settings.lease_ms + 1
    result = await attempt(rig, SCRIPT, 2)

    assert told.troubles == ["the store stayed away, another attempt has to go on"]
    assert (result.status, (await rig.frames())[-1]["type"]) == ("completed", "finish")


class Told(Silent):
    """Remembers what troubles there were."""

    def __init__(self) -> None:
        self.troubles: list[str] = []

    def trouble(self, run_id: str, what: str) -> None:
        self.troubles.append(what)


async def test_a_renewal_between_the_restore_and_its_answer_ends_nothing(records: Slow) -> None:
    """C5: the grip it renews was fenced by its own executor."""
    flushed = await Flushed.begun(records)
    flushed.rig.settings = replace(flushed.rig.settings, renew_ms=1)

    class Overlapping(MemoryRunStore):
        fenced = asyncio.Event()

        async def renew(self, grip: Grip, lease_ms: int) -> Appended | Refusal:
            reply = await super().renew(grip, lease_ms)
            if reply is Refusal.FENCED:
                self.fenced.set()
            return reply

        async def restore(self, grip: Grip, claim: ClaimRequest, remains: Remains) -> Claimed | Refusal:
            claimed = await super().restore(grip, claim, remains)
            await self.fenced.wait()
            return claimed

    store = Overlapping(flushed.rig.clock)
    store._runs = flushed.store._runs
    flushed.rig.store = store
    flushed.then(nothing)

    assert (await attempt(flushed.rig, SCRIPT)).status == "completed"
