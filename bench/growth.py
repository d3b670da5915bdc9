"""What a long turn costs: much said before it, many calls in it, and what each step of it adds.

    python -m bench.growth [--record]

Temporal and Valkey are servers, the worker is this process, the model a script. Each load is run twice: with a slice for each
step, as often as history can grow, and in one invocation, for what a step costs by itself. A token counts as four characters.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

from temporalio.client import Client as Temporal

from assistants.definition import Limits
from bench.page import markdown, record
from bench.runs import PATIENCE
from checkpoints.port import Append, Appended, Grip, Refusal
from checkpoints.redis import RedisRunStore
from protocol.json import JsonObject
from protocol.model import ModelEvent, ModelRequest
from protocol.turn import ChatTurnInput
from providers.port import Provider
from providers.script import Script, parse_script
from providers.scripted import ScriptedProvider
from records.records import Records
from resp.client import Client
from resp.push import PushConnection
from tests.rig import Outside, Rig
from tests.servers import running_server
from tests.temporal import temporal_server
from tests.workflow.durable import start, working
from tools.declare import Tool, tool
from workflows.connection import connect

TOKEN: Final = 4  # characters
RESULT_BYTES: Final = 5_000
CALLS: Final = 5  # in a step
SAID: Final = 20_000  # characters of one answer before
HEAD: Final = (
    "conversation", "calls", "last request", "slices", "history", "events", "checkpoint", "a step adds",
    "CPU a step", "CPU a step and slice",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A turn of so many calls in a conversation of so many tokens. The last step says something and calls nothing."""

    tokens: int
    calls: int

    @property
    def steps(self) -> int:
        return self.calls // CALLS + 1


LOADS: Final = (
    Load(tokens=0, calls=100),
    Load(tokens=200_000, calls=100),
    Load(tokens=200_000, calls=200),  # FR49: its checkpoint passes the limit on the way
)


@dataclass(slots=True)
class Growth:
    """What one run came to: bytes, and seconds of this thread's CPU."""

    slices: int = 0
    events: int = 0
    history: int = 0
    request: int = 0
    deltas: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)  # how many deltas there were when each began
    cpu: list[float] = field(default_factory=list)  # when each began

    @property
    def added(self) -> list[int]:
        """Bytes of checkpoint that each step but the last added."""
        return [sum(self.deltas[a:b]) for a, b in zip(self.steps, self.steps[1:], strict=False)]

    @property
    def took(self) -> list[float]:
        """Seconds of each of them."""
        return [b - a for a, b in zip(self.cpu, self.cpu[1:], strict=False)]

    async def passes(self, point: str) -> None:
        if point == "boundary:open":
            self.steps.append(len(self.deltas))
            self.cpu.append(time.thread_time())


class _Store(RedisRunStore):
    """Notes what is added to a checkpoint."""

    growth = Growth()

    async def append(self, grip: Grip, append: Append) -> Appended | Refusal:
        if append.delta is not None:
            self.growth.deltas.append(len(append.delta))
        return await super().append(grip, append)


class _Library(Outside):
    """A tool with much to say."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        @tool(repeat="safe")
        async def look(number: int) -> str:
            """Look something up."""
            return words(RESULT_BYTES, number)

        return (look,)


class _Model(ScriptedProvider):
    """Keeps what it was asked last."""

    asked: ModelRequest

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.asked = request
        return super().stream(request)


class _Rig(Rig):
    """Its last model is known."""

    model: _Model

    def provider(self, script: Script) -> Provider:
        self.model = _Model(script, pace=self.pace)
        return self.model


def words(size: int, seed: int) -> str:
    """Text that compresses as prose does."""
    chance = random.Random(seed)
    return " ".join(chance.choices(_VOCABULARY, k=size // 4))[:size]


_LETTERS: Final = random.Random("letters")
_VOCABULARY: Final = ["".join(_LETTERS.choices("etaoinshrdlu", k=_LETTERS.randint(2, 9))) for _ in range(2_000)]


class House:
    """The deployment under test."""

    def __init__(self, store: _Store, records: Records, temporal: Temporal) -> None:
        self._store = store
        everything = Limits(history_tokens=1_000_000)  # nothing of the conversation is left out
        self._rig = _Rig(records=records, store=store, outside=_Library(), limits=everything)
        self._temporal = temporal

    async def sliced(self, load: Load) -> Growth:
        """Run it on Temporal, with a slice for each step."""
        growth, run_id = await self._begin(load)
        async with working(self._temporal, run_id, self._rig, self._rig.runner(_turn(load))):
            handle = await start(self._temporal, ChatTurnInput(run_id=run_id, slice_ms=0))
            result = await handle.result()
        history = (await handle.fetch_history()).events
        assert result.status == "completed", result
        growth.slices = sum(event.HasField("activity_task_completed_event_attributes") for event in history)
        growth.events, growth.history = len(history), sum(event.ByteSize() for event in history)
        growth.request = len(json.dumps(self._rig.model.asked.messages))
        return growth

    async def whole(self, load: Load) -> Growth:
        """Run it in one invocation."""
        growth, run_id = await self._begin(load)
        (result,) = await self._rig.run(_turn(load), run_id=run_id)
        assert result.status == "completed", result
        return growth

    async def _begin(self, load: Load) -> tuple[Growth, str]:
        """A conversation in which so much was said, and the run of its next question."""
        conversation = str(uuid4())
        self._note(Growth())  # what was said before is nobody's
        for number in range(load.tokens * TOKEN // SAID):
            await self._rig.begin("And then?", run_id := str(uuid4()), conversation)
            await self._rig.run(_script([[_says(words(SAID, number))]]), run_id=run_id)
        await self._rig.begin("Look.", run_id := str(uuid4()), conversation)
        self._note(growth := Growth())
        return growth, run_id

    def _note(self, growth: Growth) -> None:
        self._store.growth = growth
        self._rig.fault = growth.passes


@asynccontextmanager
async def house(folder: Path) -> AsyncIterator[House]:
    """Servers of its own."""
    with running_server("valkey", append_only=True) as valkey, temporal_server(folder) as temporal:
        client, push = Client(valkey.address, bounds=PATIENCE), PushConnection(valkey.address, bounds=PATIENCE)
        async with await Records.in_memory() as records:
            try:
                yield House(_Store(client, push), records, await connect(temporal.address))
            finally:
                await push.close()
                await client.close()


def _turn(load: Load) -> Script:
    calls = [[_looks(number) for number in range(first, first + CALLS)] for first in range(0, load.calls, CALLS)]
    return _script([*calls, [_says("That was all.")]])


def _script(calls: Sequence[Sequence[JsonObject]]) -> Script:
    lines: list[JsonObject] = [{"v": 1, "name": "growth", "input": "Look."}]
    for events in calls:
        reason = "end_turn" if events[-1]["type"] == "text" else "tool_use"
        lines.append({"events": [*events, {"type": "stop", "reason": reason}]})
    return parse_script("\n".join(map(json.dumps, lines)))


def _says(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _looks(number: int) -> JsonObject:
    return {"type": "tool_input", "id": f"l{number}", "name": "look", "delta": json.dumps({"number": number})}


async def measure(folder: Path) -> list[list[str]]:
    """A row for each load."""
    async with house(folder) as made:
        return [_row(load, await made.sliced(load), await made.whole(load)) for load in LOADS]


def _row(load: Load, sliced: Growth, whole: Growth) -> list[str]:
    return [
        f"{load.tokens:,} tokens",
        f"{load.calls}",
        _kilobytes(sliced.request),
        f"{sliced.slices} of {load.steps} steps",
        _kilobytes(sliced.history),
        f"{sliced.events}",
        _kilobytes(sum(sliced.deltas)),
        _over(whole.added, _kilobytes),
        _over(whole.took, _milliseconds),
        _over(sliced.took, _milliseconds),
    ]


def _over(values: Sequence[float], shown: Callable[[float], str]) -> str:
    """The first quarter of the steps and the last one: the medians."""
    quarter = max(1, len(values) // 4)
    return " … ".join(shown(statistics.median(part)) for part in (values[:quarter], values[-quarter:]))


def _kilobytes(size: float) -> str:
    return f"{size / 1_000:,.1f} KB"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.growth", description=__doc__.partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="write the table into docs/benchmarks.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="growth-") as folder:
        text = markdown(HEAD, asyncio.run(measure(Path(folder))), {})
    print(text, end="")
    if arguments.record:
        record("growth", text)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # the interpreter's own way out crashes now and then after a Temporal client ran in it
