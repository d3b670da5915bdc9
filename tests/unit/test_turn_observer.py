"""What watches a turn from boundary to boundary keeps its state in the checkpoint, and is told once how it ended."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from checkpoints.memory import MemoryRunStore
from protocol.checkpoint import Seal, TurnState
from protocol.errors import LostClaim
from protocol.json import Json
from records.records import Records
from runner.parts import RunnerSettings
from tests.rig import RUN_ID, Rig, StillClock
from tests.workflow.durable import script_of

SCRIPT = script_of(3)


@dataclass
class Collector:
    """Notes the boundaries, as JSON, and what it is told at the end."""

    told: list[tuple[str, Json, str]] = field(default_factory=list)

    def observe(self, known: Json, state: TurnState) -> Json:
        seen = cast("list[Json]", known or [])
        return [*seen, f"{state.step} {state.phase}"]

    async def ended(self, run_id: str, known: Json, seal: Seal) -> None:
        self.told.append((run_id, known, seal.outcome.status))


class Broken:
    def observe(self, known: Json, state: TurnState) -> Json:
        raise ValueError("a fault of a collector")

    async def ended(self, run_id: str, known: Json, seal: Seal) -> None:
        raise ValueError("a fault of a collector")


class Slow:
    def observe(self, known: Json, state: TurnState) -> Json:
        return known

    async def ended(self, run_id: str, known: Json, seal: Seal) -> None:
        await asyncio.Event().wait()


ALL = ["1 open", "1 asked", "2 open", "2 asked", "3 open", "3 settled"]


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with await Records.in_memory() as records:
        clock = StillClock()
        settings = RunnerSettings(lease_ms=60_000, renew_ms=20_000)
        yield Rig(records=records, clock=clock, store=MemoryRunStore(clock), settings=settings)


@pytest.mark.parametrize("slice_ms", [None, 0], ids=["in one", "sliced"])
async def test_it_sees_every_boundary_and_the_end_once(rig: Rig, slice_ms: int | None) -> None:
    """REQ-D12: whichever process runs the turn."""
    collector = Collector()
    rig.turn_observers["traces"] = collector
    await rig.begin(SCRIPT.input)
    await rig.run(SCRIPT, slice_ms=slice_ms)
    await rig.run(SCRIPT, first=9)  # a duplicate

    assert collector.told == [(RUN_ID, ALL, "completed")]


@pytest.mark.parametrize(("point", "times"), [("boundary:asked", 1), ("sealed", 1), ("stored", 1), ("finished", 0)])
async def test_killed_anywhere_it_is_told_at_most_once(rig: Rig, point: str, times: int) -> None:
    """REQ-D12: what a dead attempt saw and did not commit is seen again; what was sealed is what is told."""
    collector = Collector()
    rig.turn_observers["traces"] = collector

    async def die(here: str) -> None:
        if here == point:
            raise LostClaim

    await rig.begin(SCRIPT.input)
    rig.fault = die
    await rig.run(SCRIPT)
    rig.fault = lambda _: asyncio.sleep(0)
    rig.clock.now += rig.settings.lease_ms + 1
    await rig.run(SCRIPT, first=2)

    assert collector.told == [(RUN_ID, ALL, "completed")] * times


async def test_what_it_does_wrong_the_turn_survives(rig: Rig) -> None:
    rig.turn_observers |= {"broken": Broken(), "slow": Slow()}
    rig.settings = replace(rig.settings, collect_ms=1)
    await rig.begin(SCRIPT.input)
    results = await rig.run(SCRIPT)
    sealed = await rig.store.sealed(RUN_ID)
    assert sealed is not None

    assert (results[-1].status, Seal.model_validate_json(sealed).observed) == ("completed", {"slow": None})
    assert cast("dict[str, Any]", (await rig.frames())[-1])["finishReason"] == "stop"
