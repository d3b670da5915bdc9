"""Plays the cases of `tests/provider_cases.py`: one call at the adapter, one turn at the runner, and the turn after it.

`python -m tests.provider_bench` writes what comes of them into the cases that do not say it yet, with `--again` into all,
and the table into docs/providers.md.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import cast

from assistants.definition import Assistant
from checkpoints.memory import MemoryRunStore
from protocol.checkpoint import LedgerEntry
from protocol.json import JsonObject
from protocol.model import ModelRequest, Stopped, Usage
from providers.anthropic import AnthropicProvider
from providers.script import Script
from records.records import Records
from runner.parts import Chosen
from tests.contract.providers import anthropic_at, outcome, user
from tests.fakes import anthropic_upstream as wire
from tests.fakes.anthropic_upstream import Reply, Upstream
from tests.provider_cases import FOLDER, Came, Case, cases, kinds, replies, shape
from tests.rig import RUN_ID, Outside, Rig

MODEL = "claude-fable-5-2"
NEXT_ID = "00000000-0000-4000-8000-000000000002"
NO_SCRIPT = Script(name="none", input="", calls=())
PAGE = Path(__file__).parents[1] / "docs" / "providers.md"
IDLE_SECONDS = 20.0
CALL_SECONDS = 600.0
ROUNDS = 50  # of the loop, in which what was written to a socket is read and passed on
FOREIGN = ("sk-ant", "http", "Internal", "10.0.0.1", "210000")  # what only a provider says


@dataclass(kw_only=True)
class ProviderRig(Rig):
    """The rig with an assistant that was made before."""

    made: Assistant

    @property
    def assistant(self) -> Assistant:
        return replace(self.made, limits=self.limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """One upstream, the adapter before it, and a thinking assistant that may search and has the rig's tools."""

    upstream: Upstream
    provider: AnthropicProvider
    outside: Outside
    assistant: Assistant
    model: str = MODEL

    def set_up(self, case: Case) -> None:
        """Let the upstream do what the case says, and go on with its last reply."""
        self.upstream.forget()
        self.upstream.replies += replies(case)
        self.outside.effects.clear()

    @asynccontextmanager
    async def rig(self, case: Case) -> AsyncIterator[Rig]:
        """A rig for the turn of a case."""
        async with await Records.in_memory() as records:
            rig = ProviderRig(records=records, outside=self.outside, made=self.assistant)
            rig.store = MemoryRunStore(rig.clock)
            rig.with_limits(idle_seconds=IDLE_SECONDS, call_seconds=CALL_SECONDS, **case.get("limits", {}))
            rig.choose = lambda _assistant, _request: Chosen(self.provider, self.model)
            yield rig


@asynccontextmanager
async def bench(place: type[Upstream] = Upstream, model: str = MODEL) -> AsyncIterator[Bench]:
    async with place(last_again=True) as upstream, anthropic_at(upstream) as provider:
        outside = Outside()
        search: JsonObject = {"type": "web_search_20250305", "name": "web_search"}
        assistant = Assistant(
            name="bench",
            title="Bench",
            instructions="Answer.",
            tools=outside.tools,
            served_tools=(search,),
            thinking=True,
        )
        yield Bench(upstream=upstream, provider=provider, outside=outside, assistant=assistant, model=model)


@asynccontextmanager
async def hurried(upstream: Upstream) -> AsyncIterator[None]:
    """Where the upstream falls silent, or sends nothing but pings, the loop's time jumps past what a call waits for that."""
    loop = asyncio.get_running_loop()
    clock, jumped = loop.time, 0.0

    async def hurry() -> None:
        nonlocal jumped
        while True:
            await upstream.held.wait()
            if upstream.pinging:
                await upstream.pinged.wait()
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            jumped += IDLE_SECONDS
            await upstream.left.wait()
            for event in (upstream.held, upstream.pinged, upstream.left):
                event.clear()

    loop.time = lambda: clock() + jumped  # type: ignore[method-assign] # this loop's, for as long as the block takes
    hurrying = asyncio.create_task(hurry())
    try:
        yield
    finally:
        hurrying.cancel()
        await asyncio.wait([hurrying])
        loop.time = clock  # type: ignore[method-assign] # as above


async def call(made: Bench, case: Case) -> tuple[str, Usage]:
    """How the first call of a case ends at the adapter, and what it counted."""
    asked = ModelRequest(
        model=made.model,
        system=made.assistant.instructions,
        messages=(user("Go."),),
        tools=tuple(tool.schema for tool in made.assistant.tools),
        max_tokens=8192,
        idle_seconds=IDLE_SECONDS,
        call_seconds=CALL_SECONDS,
        thinking=True,
    )
    made.set_up(case)
    events, error = await outcome(made.provider, asked)
    stops = [event for event in events if isinstance(event, Stopped)]
    if error is None:
        assert stops == events[-1:]
        return f"stop {stops[0].reason}", stops[0].usage
    assert not stops
    assert not any(foreign in str(error) for foreign in FOREIGN)
    return error.kind if error.retry_after is None else f"{error.kind} after {error.retry_after:g} s", error.usage


async def turn(made: Bench, case: Case, *, slice_ms: int | None = None) -> Came:
    """What comes of a case at the runner, and at the adapter."""
    made.set_up(case)
    async with hurried(made.upstream), made.rig(case) as rig:
        await rig.begin("Go.")
        await rig.run(NO_SCRIPT, slice_ms=slice_ms)
        return await came_of(made, case, rig)


async def came_of(made: Bench, case: Case, rig: Rig, run_id: str = RUN_ID) -> Came:
    """What came of a turn that has ended; the next one of its conversation is played for it, and must be accepted."""
    upstream = made.upstream
    asked, refused = len(upstream.requests), list(upstream.complaints)
    frames, ledger = await rig.frames(run_id), await rig.store.ledger(run_id)
    effects = len(rig.outside.effects)
    await _play_next(rig, upstream)
    assert upstream.complaints == refused
    history = shape(cast("list[object]", upstream.requests[-1]["messages"]))
    data = {str(frame["type"]): cast("dict[str, object]", frame).get("data") for frame in frames}
    error, reply, usage = (
        cast("dict[str, str]", data.get(f"data-{name}") or {}) for name in ("error", "reply", "usage")
    )
    assert not any(foreign in json.dumps(data) for foreign in FOREIGN)
    said = "".join(str(cast("dict[str, str]", frame)["delta"]) for frame in frames if frame["type"] == "text-delta")
    called, counted = await call(made, case)
    return Came(
        call=called,
        counted=_counts(counted.model_dump()),
        turn=" ".join(filter(None, [reply["outcome"], error.get("kind"), str(dict(frames[-1])["finishReason"])])),
        frames=kinds(frames),
        history=history,
        ledger={key: LedgerEntry.model_validate_json(entry).state for key, entry in sorted(ledger.items())},
        text=said,
        usage=[int(usage[name]) for name in ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")],
        asked=asked,
        effects=effects,
    )


async def _play_next(rig: Rig, upstream: Upstream) -> None:
    await rig.begin("And now?", run_id=NEXT_ID)
    upstream.replies[:] = [Reply([wire.body(wire.spoken(wire.text("Fine.")))])]
    results = await rig.run(NO_SCRIPT, run_id=NEXT_ID)
    assert results[-1].status == "completed", upstream.complaints


def _counts(usage: dict[str, int]) -> list[int]:
    return [usage[name] for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")]


def table() -> str:
    """The cases and what comes of them, as Markdown."""
    lines = ["| the provider | the call | the turn | history of the next turn |", "|---|---|---|---|"]
    for case in cases().values():
        came = case["came"]
        lines.append(f"| {case['name']} | {came['call']} | {came['turn']} | {' · '.join(came['history'])} |")
    return "\n".join(lines)


def write_table() -> None:
    before, _, rest = PAGE.read_text().partition("<!-- cases -->\n")
    after = rest.partition("<!-- end of cases -->")[2]
    PAGE.write_text(f"{before}<!-- cases -->\n{table()}\n<!-- end of cases -->{after}")


async def record(*, again: bool) -> None:
    """Write what comes of the cases that do not say it."""
    async with bench() as made:
        for path in sorted(FOLDER.glob("*.json")):
            found: list[Case] = json.loads(path.read_text())
            for case in found:
                if again or "came" not in case:
                    sys.stdout.write(f"{case['name']}\n")
                    case["came"] = (await turn(made, case)).written()
            path.write_text("[\n" + ",\n".join(map(_case_lines, found)) + "\n]\n")
    cases.cache_clear()


def _case_lines(case: Case) -> str:
    """A case in lines that can be read: one a reply, one for each thing that comes of it."""
    given = [f"  {json.dumps(key)}: {json.dumps(case[key])}" for key in case if key not in ("replies", "came")]
    told = ",\n".join(f"    {json.dumps(reply)}" for reply in case["replies"])
    came = ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in case["came"].items())
    return "{\n" + ",\n".join(chain(given, [f'  "replies": [\n{told}\n  ]', f'  "came": {{\n{came}\n  }}'])) + "\n}"


if __name__ == "__main__":
    asyncio.run(record(again="--again" in sys.argv))
    write_table()
