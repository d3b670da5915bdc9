"""More than the server takes: results and errors of tools, and checkpoints of megabytes, on a real Temporal server."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, cast

import pytest
from temporalio.client import Client

from protocol.frames import Frame
from protocol.turn import ChatTurnInput
from providers.script import Script, parse_script
from records.records import Records
from tests.rig import Outside, Rig
from tests.workflow.durable import event_types, start, working
from tools.declare import Tool, tool

STEPS, CALLS = 10, 4
RESULT_BYTES, ERROR_BYTES = 100_000, 5_000_000
SLICES = {
    "past the limit the rest stays where it is": (700_000, range(2, STEPS)),
    "by reference it may be of any size": (16_000_000, range(STEPS + 1, STEPS + 2)),
}


@dataclass
class Bulky(Outside):
    """Tools with much to say, which does not get shorter by compression."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        @tool(repeat="safe")
        async def bulk(number: int) -> str:
            """Give a lot."""
            return "".join(sha256(f"{number}.{line}".encode()).hexdigest() for line in range(RESULT_BYTES // 64 + 1))

        @tool(repeat="safe")
        async def explode(number: int) -> str:
            """Fail with a lot."""
            raise ValueError("x" * ERROR_BYTES + str(number))

        return (bulk, explode)


def script() -> Script:
    """Ten steps of four calls, in each the last one fails."""
    event = '{"type":"tool_input","id":"t%d","name":"%s","delta":"{\\"number\\": %d}"}'
    numbers = [range(step * CALLS, (step + 1) * CALLS) for step in range(STEPS)]
    names = ["bulk"] * (CALLS - 1) + ["explode"]
    calls = [
        ",".join(event % (number, name, number) for number, name in zip(step, names, strict=True)) for step in numbers
    ]
    asking = [f'{{"events":[{call},{{"type":"stop","reason":"tool_use"}}]}}' for call in calls]
    said = '{"events":[{"type":"text","text":"That was a lot."},{"type":"stop"}]}'
    return parse_script("\n".join(['{"v":1,"name":"bulk","input":"Go."}', *asking, said]))


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with await Records.in_memory() as records:
        yield Rig(records=records, outside=Bulky())


@pytest.mark.parametrize(("limit", "slices"), SLICES.values(), ids=SLICES.keys())
async def test_a_turn_of_megabytes_ends_well_and_leaves_a_few_bytes_in_history(
    client: Client, run_id: str, rig: Rig, limit: int, slices: range
) -> None:
    """FR48 REQ-D4 REQ-D5 REQ-C7: a result is cut and says so, an error too, a checkpoint is kept by reference."""
    rig.settings = replace(rig.settings, max_checkpoint_bytes=limit)
    await rig.begin("Go.", run_id=run_id)
    async with working(client, run_id, rig, rig.runner(script())):
        handle = await start(client, ChatTurnInput(run_id=run_id, slice_ms=0))
        result = await handle.result()

    frames = await rig.frames(run_id)
    results = [cast("Any", frame)["output"] for frame in frames if frame["type"] == "tool-output-available"]
    assert result.status == "completed"
    assert len(results) == STEPS * (CALLS - 1)
    assert [one["shortened"]["bytes"] for one in results] == [100_032] * len(results)
    assert [len(text) < 2_100 for text in texts(frames, "errorText")] == [True] * STEPS
    assert (await event_types(handle)).count("ACTIVITY_TASK_COMPLETED") in slices
    history = await handle.fetch_history()
    assert sum(event.ByteSize() for event in history.events) < 2_000 * slices.stop


def texts(frames: list[Frame], key: str) -> list[str]:
    return [str(frame[key]) for frame in frames if key in frame]  # type: ignore[literal-required] # looked for first
