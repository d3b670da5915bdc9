"""Plays the cases of `tests/provider_cases.py`: one call at the adapter, one turn at the runner, and the turn after it.

`python -m tests.provider_bench` writes what comes of them into the cases that do not say it yet, and the table into
docs/providers.md.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import cast

from assistants.definition import Assistant
from checkpoints.memory import MemoryRunStore
from checkpoints.port import RunStore
from protocol.checkpoint import LedgerEntry
from protocol.model import ModelRequest, Stopped, ToolSchema
from providers.anthropic import AnthropicProvider
from providers.script import Script
from records.records import Records
from runner.parts import Chosen
from tests.contract.providers import anthropic_at, outcome, user
from tests.fakes import anthropic_upstream as wire
from tests.fakes.anthropic_upstream import Reply, Upstream
from tests.provider_cases import FOLDER, Came, Case, cases, kinds, replies, shape
from tests.rig import RUN_ID, Rig

MODEL = "claude-fable-5-2"
NEXT_ID = "00000000-0000-4000-8000-000000000002"
NO_SCRIPT = Script(name="none", input="", calls=())
SERVED = ({"type": "web_search_20250305", "name": "web_search"},)
PAGE = Path(__file__).parents[1] / "docs" / "providers.md"
IDLE_SECONDS = 0.05  # where a case is about silence
PATIENT_SECONDS = 20.0


class ProviderRig(Rig):
    """The rig with a thinking assistant behind the real adapter."""

    @property
    def assistant(self) -> Assistant:
        return replace(super().assistant, thinking=True, served_tools=SERVED)


def idle_seconds(case: Case) -> float:
    return IDLE_SECONDS if any(reply.end in ("hold", "ping") for reply in replies(case)) else PATIENT_SECONDS


async def call(case: Case) -> str:
    """How the first call of a case ends at the adapter."""
    schema = ToolSchema(name="add", description="Add.", input_schema={"type": "object"})
    asked = ModelRequest(
        model=MODEL,
        system="Answer.",
        messages=(user("Go."),),
        tools=(schema,),
        max_tokens=8192,
        idle_seconds=idle_seconds(case),
        call_seconds=PATIENT_SECONDS,
        thinking=True,
        served_tools=SERVED,
    )
    async with upstream_of(case) as upstream:
        async with anthropic_at(upstream) as provider:
            events, error = await outcome(provider, asked)
        await upstream.quiet.wait()
    if error is None:
        return f"stop {cast('Stopped', events[-1]).reason}"
    assert not any(isinstance(event, Stopped) for event in events)
    assert not any(foreign in str(error) for foreign in ("sk-ant", "http", "Internal"))
    return error.kind if error.retry_after is None else f"{error.kind} after {error.retry_after:g} s"


@asynccontextmanager
async def upstream_of(case: Case) -> AsyncIterator[Upstream]:
    """An upstream that does what the case says, and goes on with its last reply."""
    async with Upstream(last_again=True, limit_tokens=case.get("limit")) as upstream:
        upstream.replies += replies(case)
        yield upstream


@asynccontextmanager
async def rig_of(case: Case, provider: AnthropicProvider, store: RunStore | None = None) -> AsyncIterator[Rig]:
    async with await Records.in_memory() as records:
        rig = ProviderRig(records=records)
        rig.store = store or MemoryRunStore(rig.clock)
        rig.with_limits(idle_seconds=idle_seconds(case), call_seconds=PATIENT_SECONDS)
        rig.choose = lambda _assistant, _request: Chosen(provider, MODEL)
        yield rig


async def turn(case: Case, *, slice_ms: int | None = None) -> Came:
    """What comes of a case at the runner."""
    async with upstream_of(case) as upstream:
        async with anthropic_at(upstream) as provider, rig_of(case, provider) as rig:
            await rig.begin("Go.")
            await rig.run(NO_SCRIPT, slice_ms=slice_ms)
            came = await came_of(case, rig, upstream)
        await upstream.quiet.wait()
    return came


async def came_of(case: Case, rig: Rig, upstream: Upstream, run_id: str = RUN_ID) -> Came:
    """What came of a turn that has ended; the next one of its conversation is played for it, and must be accepted."""
    asked, refused = len(upstream.requests), list(upstream.complaints)
    frames = await rig.frames(run_id)
    ledger = await rig.store.ledger(run_id)
    effects = len(rig.outside.effects)
    await rig.begin("And now?", run_id=NEXT_ID)
    upstream.replies[:] = [Reply([wire.body(wire.spoken(wire.text("Fine.")))])]
    results = await rig.run(NO_SCRIPT, run_id=NEXT_ID)
    assert results[-1].status == "completed", upstream.complaints
    assert upstream.complaints == refused, upstream.complaints
    ended = {frame["type"]: cast("dict[str, object]", frame) for frame in frames}
    error = cast("dict[str, str]", ended["data-error"]["data"]) if "data-error" in ended else {}
    reply = cast("dict[str, str]", ended["data-reply"]["data"])
    usage = cast("dict[str, int]", ended["data-usage"]["data"])
    said = "".join(str(cast("dict[str, str]", frame)["delta"]) for frame in frames if frame["type"] == "text-delta")
    return Came(
        call=await call(case),
        turn=" ".join(filter(None, [reply["outcome"], error.get("kind"), str(ended["finish"]["finishReason"])])),
        frames=kinds(frames),
        history=shape(cast("list[object]", upstream.requests[-1]["messages"])),
        ledger={key: LedgerEntry.model_validate_json(entry).state for key, entry in sorted(ledger.items())},
        text=said,
        usage=[usage[name] for name in ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")],
        asked=asked,
        effects=effects,
    )


def table() -> str:
    """The cases and what comes of them, as Markdown."""
    lines = ["| the provider | the call | the turn | history of the next turn |", "|---|---|---|---|"]
    for case in cases().values():
        came = case["came"]
        history = " · ".join(came["history"][:-1]) or came["history"][-1]
        lines.append(f"| {case['name']} | {came['call']} | {came['turn']} | {history} |")
    return "\n".join(lines)


def write_table() -> None:
    before, _, rest = PAGE.read_text().partition("<!-- cases -->\n")
    after = rest.partition("<!-- end of cases -->")[2]
    PAGE.write_text(f"{before}<!-- cases -->\n{table()}\n<!-- end of cases -->{after}")


def record() -> None:
    """Write what comes of the cases that do not say it."""
    for path in sorted(FOLDER.glob("*.json")):
        found: list[Case] = json.loads(path.read_text())
        for case in found:
            if "came" not in case:
                sys.stdout.write(f"{case['name']}\n")
                case["came"] = asyncio.run(turn(case)).written()
        path.write_text("[\n" + ",\n".join(map(_case_lines, found)) + "\n]\n")
    cases.cache_clear()


def _case_lines(case: Case) -> str:
    """A case in lines that can be read: one a reply, one for each thing that comes of it."""
    given = [f"  {json.dumps(key)}: {json.dumps(case[key])}" for key in case if key not in ("replies", "came")]
    told = ",\n".join(f"    {json.dumps(reply)}" for reply in case["replies"])
    came = ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in case["came"].items())
    return "{\n" + ",\n".join(chain(given, [f'  "replies": [\n{told}\n  ]', f'  "came": {{\n{came}\n  }}'])) + "\n}"


if __name__ == "__main__":
    record()
    write_table()
