"""A run of many slices is one run: one end, and every model call counted once (FR14)."""

import json

from protocol.frames import data
from protocol.json import JsonObject
from providers.script import Script, parse_script
from records.records import Records
from records.values import Key, Span
from tests.rig import Rig

SLICES = 5
USED = 7  # tokens of each call, in and out


def script() -> Script:
    """So many model calls, every one but the last asking for a tool."""
    usage = {"input_tokens": USED, "output_tokens": USED}
    calls = [
        {
            "events": [
                {"type": "text", "text": f"Step {number}."},
                *(
                    []
                    if number == SLICES
                    else [{"type": "tool_input", "id": f"t{number}", "name": "send", "delta": text(number)}]
                ),
                {"type": "stop", "reason": "end_turn" if number == SLICES else "tool_use", "usage": usage},
            ]
        }
        for number in range(1, SLICES + 1)
    ]
    return parse_script("\n".join(map(json.dumps, [{"v": 1, "name": "slices", "input": "Go on."}, *calls])))


def text(number: int) -> str:
    return json.dumps({"text": f"note {number}"})


async def test_between_slices_nothing_looks_ended_and_in_the_end_each_call_counts_once() -> None:
    """FR14 LAW-P1 LAW-P3: a slice that hands over is no end, and the next one does not read the run from zero."""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        request = await rig.begin("Go on.")
        slices = await rig.run(script(), slice_ms=0)
        frames = await rig.frames()
        stored = await records.messages(Key(owner="ada", conversation_id=request.conversation_id), Span())

    kinds = [frame["type"] for frame in frames]
    told = [frame for frame in frames if frame["type"] == "data-usage"]
    used: JsonObject = {
        "inputTokens": SLICES * USED,
        "outputTokens": SLICES * USED,
        "cacheReadTokens": 0,
        "cacheWriteTokens": 0,
    }
    assert [one.outcome for one in slices] == ["handed_over"] * (SLICES - 1) + ["ended"]
    assert (kinds.count("start"), kinds.count("finish"), kinds[-1]) == (1, 1, "finish")
    assert told == [data("usage", {**used, "steps": SLICES})]
    assert len(rig.outside.effects) == SLICES - 1
    assert [one.role for one in stored or ()] == ["user", "assistant"]
