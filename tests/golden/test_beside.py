"""Scripted turns with something beside their text, and the exact frames they give.

`beside/<name>.jsonl` is what the model says. Before `long_conversation` so much was said that it does not fit any more; after
`suggested` the assistant has prompts to go on with, in time.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from assistants.definition import Assistant
from protocol.frames import Frame
from providers.script import parse_script
from records.records import Records
from tests.golden.frames import expected, folded, stored, written
from tests.rig import RUN_ID, Rig

TURNS = Path(__file__).parent / "beside"
NAMES = sorted(path.stem for path in TURNS.glob("*.jsonl") if ".frames" not in path.stem)
EARLIER_RUN = "00000000-0000-4000-8000-000000000002"
EARLIER = parse_script(
    '{"v":1,"name":"earlier","input":"What is it about?"}\n'
    '{"events":[{"type":"text","text":"Numbers. ","repeat":40},{"type":"stop"}]}'
)


@dataclass(kw_only=True)
class Suggesting(Rig):
    """A rig whose assistant has prompts at once."""

    @property
    def assistant(self) -> Assistant:
        return replace(super().assistant, suggest=self._suggest)

    async def _suggest(self, question: str, answer: str) -> tuple[str, ...]:
        return (f"Why {answer}", f"Again: {question}")


async def play(records: Records, name: str, *, slice_ms: int | None = None) -> tuple[list[Frame], int]:
    """The frames of the turn, and how many slices it took."""
    rig = Suggesting(records=records) if name == "suggested" else Rig(records=records)
    if name == "long_conversation":
        await rig.begin(EARLIER.input, EARLIER_RUN)
        await rig.run(EARLIER, run_id=EARLIER_RUN)
        rig.with_limits(history_tokens=100)
    script = parse_script((TURNS / f"{name}.jsonl").read_text())
    await rig.begin(script.input)
    results = await rig.run(script, slice_ms=slice_ms)
    return await rig.frames(RUN_ID), len(results)


async def frames_of(name: str) -> list[Frame]:
    async with await Records.in_memory() as records:
        return (await play(records, name))[0]


@pytest.mark.parametrize("slice_ms", [None, 0], ids=["as long as it can", "sliced at every boundary"])
@pytest.mark.parametrize("name", NAMES)
async def test_a_turn_with_more_than_text_gives_exactly_these_frames(name: str, slice_ms: int | None) -> None:
    """REQ-Y2 REQ-Y3 REQ-G4 REQ-G6 C21 LAW-P4: in one invocation as in two."""
    async with await Records.in_memory() as records:
        frames, slices = await play(records, name, slice_ms=slice_ms)

    assert (expected(TURNS, name), slices) == (written(frames), 1 if slice_ms is None else 2)


@pytest.mark.parametrize("name", NAMES)
async def test_the_stored_message_is_the_fold_of_the_frames(name: str) -> None:
    """LAW-P2"""
    async with await Records.in_memory() as records:
        message = folded((await play(records, name))[0])
        assert await stored(records) == message.parts
