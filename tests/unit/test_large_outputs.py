"""Outputs that no frame can hold: shortened where everybody sees it, and whole where the owner asks."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from engine.fold import fold
from engine.shorten import MAX_BYTES, shortened
from frames.sse import FRAME_BYTES, encode
from protocol.checkpoint import Message
from protocol.errors import TurnkeepError
from protocol.json import Json
from providers.script import Script, parse_script
from records.records import Records
from records.values import KeptOutput, Key, Span
from runner.outputs import OUTPUT_BYTES
from tests.rig import MESSAGE_ID, RUN_ID, Outside, Rig
from tools.declare import Tool, tool


@dataclass
class Large(Outside):
    """A tool that gives much."""

    output: Json = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        @tool(repeat="safe")
        async def load() -> Json:
            """Load."""
            return self.output

        return (load,)


def script(given: str = "{}") -> Script:
    lines = [
        {"v": 1, "name": "large", "input": "Load."},
        {"events": [{"type": "tool_input", "id": "p", "name": "load", "delta": given}, {"type": "stop", "reason": "tool_use"}]},
        {"events": [{"type": "text", "text": "Loaded."}, {"type": "stop"}]},
    ]  # fmt: skip
    return parse_script("\n".join(json.dumps(line) for line in lines))


ROWS: Json = [{"id": 2**60 + number, "name": "ö€😀\u2028" * 20} for number in range(2_000)]


async def played(rig: Rig, records: Records, given: str = "{}") -> tuple[Any, Any]:
    """The call's part in the folded message, which is the stored one, and what the model was told."""
    await rig.begin("Load.")
    await rig.run(script(given), slice_ms=0)
    message = Message(id=MESSAGE_ID)
    for frame in await rig.frames():
        assert len(encode(0, frame)) <= FRAME_BYTES
        message = fold(message, frame)
    stored = await records.messages(Key(owner="ada", conversation_id="talk"), Span(past=1)) or ()
    assert stored[0].parts == message.parts  # LAW-P2
    history = await records.history("", "talk", 100, None)
    told = next(block for one in history[1].provider for block in one["content"] if block["type"] == "tool_result")  # type: ignore[union-attr, index, call-overload] # blocks
    return next(part for part in message.parts if part.get("toolCallId") == "c1.0"), told


@pytest.mark.parametrize(
    "output", [ROWS, "\u20ac" * 100_000, {"a": {"b": ["\x07" * 200_000]}}], ids=["rows", "text", "deep"]
)
async def test_a_large_output_is_shortened_and_kept_whole(output: Json) -> None:
    """[U3] [F7]"""
    async with await Records.in_memory() as records:
        part, told = await played(Rig(records=records, outside=Large(output=output)), records)
        kept = await records.output(RUN_ID, "c1.0")

    assert kept is not None
    whole = kept if isinstance(kept, str) else json.dumps(kept, ensure_ascii=False)
    assert part["output"]["shortened"] == {"bytes": len(whole.encode()), "reference": "c1.0"}
    assert whole.startswith(part["output"]["beginning"])
    assert MAX_BYTES - 4 < len(part["output"]["beginning"].encode()) <= MAX_BYTES
    assert "[cut here: " in told["content"][0]["text"]
    if output is ROWS:
        assert kept[1] == {"id": str(2**60 + 1), "name": "ö€😀\u2028" * 20}  # type: ignore[index] # rows


async def test_what_fits_is_not_touched() -> None:
    async with await Records.in_memory() as records:
        part, _ = await played(Rig(records=records, outside=Large(output="x" * MAX_BYTES)), records)

        assert part["output"] == "x" * MAX_BYTES
        assert await records.output(RUN_ID, "c1.0") is None


class Away(Records):
    async def keep_output(self, output: KeptOutput) -> bool:
        raise TurnkeepError("unavailable", "The database does not answer.")


async def test_without_a_place_for_the_whole_the_beginning_says_so() -> None:
    async with await Away.in_memory() as records:
        part, _ = await played(Rig(records=records, outside=Large(output=ROWS)), records)

    assert [*part["output"]["shortened"]] == ["bytes"]


async def test_an_output_beyond_measure_is_not_kept() -> None:
    async with await Records.in_memory() as records:
        part, _ = await played(Rig(records=records, outside=Large(output="x" * (OUTPUT_BYTES + 1))), records)

        assert part["output"]["shortened"] == {"bytes": OUTPUT_BYTES + 1}
        assert await records.output(RUN_ID, "c1.0") is None


async def test_a_large_input_is_shortened_behind_its_deltas() -> None:
    """[U3] [F7]: the pieces before it hold all of it."""
    given = json.dumps({"text": "\U0001f600" * 60_000}, ensure_ascii=False)
    async with await Records.in_memory() as records:
        rig = Rig(records=records, outside=Large())
        part, _ = await played(rig, records, given)
        frames: list[Any] = [*await rig.frames()]
        pieces = [frame["inputTextDelta"] for frame in frames if frame["type"] == "tool-input-delta"]

    assert "".join(pieces) == given
    assert part["input"] == shortened({"text": "\U0001f600" * 60_000})
    assert part["input"]["shortened"] == {"bytes": len(given.encode())}
