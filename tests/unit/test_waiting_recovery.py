"""A person decides and answers, and executors die at every write of it: what test_recovery shows, for turns that wait."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

import pytest

from checkpoints.port import Order
from protocol.frames import Frame
from protocol.turn import SliceResult
from providers.script import Script, parse_script
from records.records import Records
from runner.port import Job
from tests.golden.test_waiting import TURNS
from tests.rig import RUN_ID, Rig, StillClock
from tests.unit.test_recovery import CutOff, check
from tests.waiting import say, waiting_tools

NAMES = ("approved", "denied", "answered", "beside_others", "steered_while_parked")


class Run:
    """One turn through slices and attempts, with a person who says the next thing each time it parks."""

    def __init__(self, rig: Rig, store: CutOff, name: str) -> None:
        self.rig = rig
        self.store = store
        self.script: Script = parse_script((TURNS / f"{name}.jsonl").read_text())
        self._batches = iter(json.loads((TURNS / f"{name}.inputs.json").read_text())["parked"])
        self._orders = count(1)

    async def attempt(self) -> SliceResult:
        job = Job(run_id=RUN_ID, order=Order(1, next(self._orders), 1), mode="workflow")
        result = await self.rig.runner(self.script).run(job, asyncio.Event())
        if result.outcome == "parked":
            await say(self.rig, *next(self._batches))
        return result

    async def to_the_end(self) -> None:
        while (result := await self.attempt()).outcome != "ended":
            assert result.outcome in ("parked", "stale")
            self.rig.clock.now += self.rig.settings.lease_ms + 1
            self.store.allowed = 10_000


@asynccontextmanager
async def run_of(name: str) -> AsyncIterator[tuple[Run, Records]]:
    async with await Records.in_memory() as records:
        clock = StillClock()
        store = CutOff(clock)
        rig = Rig(records=records, clock=clock, store=store)
        rig.more_tools = waiting_tools(rig.outside)
        run = Run(rig, store, name)
        await rig.begin(run.script.input)
        yield run, records


async def undisturbed(name: str) -> tuple[list[Frame], int]:
    async with run_of(name) as (run, _):
        await run.to_the_end()
        return await run.rig.frames(), run.store.writes


@pytest.mark.parametrize("write_first", [True, False], ids=["after the write", "before the write"])
@pytest.mark.parametrize("name", NAMES)
async def test_cut_off_at_any_write_the_turn_ends_as_decided(name: str, write_first: bool) -> None:
    """LAW-P1 LAW-P2 LAW-P3 C1 C12 [W1] [W2]: decisions are not asked for again, nor forgotten, nor carried out twice."""
    frames, writes = await undisturbed(name)
    asked = [frame for frame in frames if "approval" in frame["type"]]
    for cut in range(writes):
        async with run_of(name) as (run, records):
            run.store.allowed, run.store.write_first = cut, write_first
            await run.to_the_end()
            seen = await check(run.rig, records)
            assert [frame for frame in seen if "approval" in frame["type"]] == asked, cut


async def test_an_approved_call_that_an_executor_died_in_is_not_made_again() -> None:
    """C1 LAW-P3: approval is for one effect; its outcome is unknown, and the model is told so."""
    async with run_of("approved") as (run, records):
        assert (await run.attempt()).outcome == "parked"
        run.store.allowed = (
            run.store.writes + 2
        )  # a look at the log, then decision and start are written, nothing after
        assert (await run.attempt()).outcome == "stale"
        run.store.allowed = 10_000
        run.rig.clock.now += run.rig.settings.lease_ms + 1
        await run.to_the_end()
        frames = await check(run.rig, records)

    assert len(run.rig.outside.effects) == 1
    assert [frame["type"] for frame in frames].count("tool-output-error") == 1
