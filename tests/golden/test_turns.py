"""Scripted turns and the exact frames they give. Files are added to, never edited: `make record` writes missing ones.

`turns/<name>.jsonl` is what the model says, `turns/<name>.frames.jsonl` the data lines of the log, byte for byte.
"""

import json
from pathlib import Path

import pytest

from checkpoints.memory import MemoryRunStore
from protocol.frames import Frame
from providers.script import Script, parse_script
from records.records import Records
from tests.golden.frames import expected, folded, stored, written
from tests.rig import MESSAGE_ID, RUN_ID, Rig, StillClock

TURNS = Path(__file__).parent / "turns"
NAMES = sorted(path.name.removesuffix(".jsonl") for path in TURNS.glob("*.jsonl") if ".frames." not in path.name)


def script_of(name: str) -> Script:
    return parse_script((TURNS / f"{name}.jsonl").read_text())


async def play(name: str, *, slice_ms: int | None = None) -> tuple[list[Frame], int]:
    """The frames of a turn, stopped at the third gap where its name says so, and how many slices it took."""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        gaps = 0

        async def pace(_: float) -> None:
            nonlocal gaps
            gaps += 1
            if name.startswith("stop") and gaps == 3:
                await rig.store.stop(RUN_ID)

        rig.pace = pace
        script = script_of(name)
        await rig.begin(script.input)
        results = await rig.run(script, slice_ms=slice_ms)
        return await rig.frames(), len(results)


@pytest.mark.parametrize("name", NAMES)
async def test_a_turn_gives_exactly_these_frames(name: str) -> None:
    """REQ-Y2 REQ-B6 REQ-B7"""
    frames, slices = await play(name)

    assert (expected(TURNS, name), 1) == (written(frames), slices)


@pytest.mark.parametrize("name", NAMES)
async def test_sliced_at_every_boundary_the_frames_are_the_same(name: str) -> None:
    """REQ-Y3 REQ-D1 C21 LAW-P4: each slice begins from the checkpoint's JSON."""
    frames, slices = await play(name, slice_ms=0)

    assert expected(TURNS, name) == written(frames)
    assert slices == sum(frame["type"] == "start-step" for frame in frames)


@pytest.mark.parametrize("name", NAMES)
async def test_the_stored_message_is_the_fold_of_the_frames(name: str) -> None:
    """LAW-P2"""
    async with await Records.in_memory() as records:
        rig = Rig(records=records, store=MemoryRunStore(StillClock()))
        script = script_of(name)
        await rig.begin(script.input)
        await rig.run(script)
        message = folded(await rig.frames())
        assert (MESSAGE_ID, await stored(records)) == (message.id, message.parts)


@pytest.mark.parametrize("name", NAMES)
def test_every_expected_frame_is_strict_json(name: str) -> None:
    """FR42"""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for line in expected(TURNS, name):
        assert line.isascii()
        assert json.loads(line, parse_constant=refuse)
