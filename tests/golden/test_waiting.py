"""Scripted turns in which a person decides, answers and interrupts, and the exact frames they give.

`waiting/<name>.jsonl` is what the model says, `<name>.inputs.json` what the person says: each time the run parks, and at
gaps of the model's speech. Where the person has nothing left to say, the time to answer runs out.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoints.memory import MemoryRunStore
from protocol.frames import Frame
from protocol.turn import SliceResult
from providers.script import parse_script
from records.records import Records
from tests.golden.frames import expected, folded, stored, written
from tests.rig import Rig, StillClock
from tests.waiting import say, waiting_tools

TURNS = Path(__file__).parent / "waiting"
NAMES = sorted(path.stem for path in TURNS.glob("*.jsonl") if ".frames" not in path.stem)
WEEK_MS = 7 * 24 * 3600 * 1000


def rig_of(records: Records) -> Rig:
    clock = StillClock()
    rig = Rig(records=records, clock=clock, store=MemoryRunStore(clock))
    rig.more_tools = waiting_tools(rig.outside)
    return rig


async def play(rig: Rig, name: str, *, slice_ms: int | None = None) -> list[SliceResult]:
    """Run the turn to its end, through as many slices as it takes."""
    script = parse_script((TURNS / f"{name}.jsonl").read_text())
    said: dict[str, Any] = json.loads((TURNS / f"{name}.inputs.json").read_text())
    batches = iter(said["parked"])
    gaps = 0

    async def pace(_: float) -> None:
        nonlocal gaps
        gaps += 1
        if batch := said["gaps"].get(str(gaps)):
            await say(rig, *batch)

    rig.pace = pace
    await rig.begin(script.input)
    results: list[SliceResult] = []
    while not results or results[-1].outcome == "parked":
        if results:
            if (batch := next(batches, None)) is not None:
                await say(rig, *batch)
            else:
                rig.clock.now += results[-1].wait_ms
        results += await rig.run(script, slice_ms=slice_ms, first=len(results) + 1)
    return results


async def frames_of(name: str, *, slice_ms: int | None = None) -> list[Frame]:
    async with await Records.in_memory() as records:
        rig = rig_of(records)
        await play(rig, name, slice_ms=slice_ms)
        return await rig.frames()


@pytest.mark.parametrize("slice_ms", [None, 0], ids=["as long as it can", "sliced at every boundary"])
@pytest.mark.parametrize("name", NAMES)
async def test_a_turn_that_waits_gives_exactly_these_frames(name: str, slice_ms: int | None) -> None:
    """C21 LAW-P4 REQ-Y3 [W1] [W3] [W5] [W8]: wherever it is cut, and however long it waited."""
    assert expected(TURNS, name) == written(await frames_of(name, slice_ms=slice_ms))


@pytest.mark.parametrize("name", NAMES)
async def test_the_stored_message_is_the_fold_of_the_frames(name: str) -> None:
    """LAW-P2"""
    async with await Records.in_memory() as records:
        rig = rig_of(records)
        await play(rig, name)
        message = folded(await rig.frames())
        assert await stored(records) == message.parts


@pytest.mark.parametrize("name", NAMES)
async def test_an_effect_that_needs_approval_happens_once_or_never(name: str) -> None:
    """LAW-P3 [W2]"""
    async with await Records.in_memory() as records:
        rig = rig_of(records)
        await play(rig, name)

    paid = {"approved": 1, "beside_others": 1, "steered_while_parked": 1}
    assert len(rig.outside.effects) == paid.get(name, 0)


@pytest.mark.parametrize("name", NAMES)
async def test_a_parked_run_tells_how_long_it_waits(name: str) -> None:
    async with await Records.in_memory() as records:
        results = await play(rig_of(records), name)

    assert {result.wait_ms for result in results if result.outcome == "parked"} <= {WEEK_MS}
    assert results[-1].outcome == "ended"
