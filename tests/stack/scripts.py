"""Scripted turns for real processes. The demo model plays one where its question is asked."""

import json
from pathlib import Path

from protocol.json import Json, JsonObject

MARKER = "xylophone"  # in everything that is said; in nothing that may be kept without content
STEPS = 21
SEARCHES = 10  # in each step but the last
QUERY_BYTES = 5_000


def write_scripts(folder: Path) -> None:
    """All of them, as files."""
    for script in (steps(), mixed(), text("talk", seconds=6), text("short", seconds=0.5)):
        name = str(script[0]["name"])
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in script))


def question(name: str) -> str:
    """What to ask for the script of this name."""
    return f"Play the turn {name} {MARKER}."


def steps() -> list[JsonObject]:
    """More than twenty model calls, each longer than a second, with two hundred tool calls of 5 KB (FR49)."""
    calls = [_call(f"Step {step}.", *_searches(step), *_extra(step), gap_ms=100) for step in range(1, STEPS)]
    return [_head("steps"), *calls, _call(f"The last of {STEPS} steps, {MARKER}.", gap_ms=100)]


def mixed() -> list[JsonObject]:
    """Text, thinking, tools, some that fail, one slow enough for heartbeats, an effect, and repeated deltas (FR08)."""
    thinking: JsonObject = {"type": "thinking", "text": "Hm, ha."}
    two = (_tool("a", "calculator", {"expression": "2 + 2"}), _tool("b", "send_note", {"text": MARKER}))
    failing = (_tool("c", "calculator", {"expression": "1 / 0"}), _tool("d", "nothing", {}))
    slow = _tool("e", "slow_count", {"to": 3, "pause_seconds": 0.3})
    return [
        _head("mixed"),
        _call("First two.", *two, before=[thinking], gap_ms=10),
        _call("Two that fail.", *failing, gap_ms=10),
        _call("Now count.", slow, gap_ms=10),
        _call(f"ha ha ha   \n\n {MARKER} 你好 🌍.", gap_ms=10),
    ]


def text(name: str, *, seconds: float) -> list[JsonObject]:
    """One model call that takes its time, and no boundary."""
    words = 20
    return [_head(name), _call("word " * words, gap_ms=int(seconds * 1_000 / words))]


def _head(name: str) -> JsonObject:
    return {"v": 1, "name": name, "input": question(name)}


def _call(said: str, *tools: JsonObject, before: list[JsonObject] | None = None, gap_ms: int) -> JsonObject:
    stop: JsonObject = {"type": "stop", "reason": "tool_use" if tools else "end_turn"}
    events: list[Json] = [*(before or []), {"type": "text", "text": said, "words": True}, *tools, stop]
    return {"events": events, "gap_ms": gap_ms}


def _tool(call_id: str, name: str, given: JsonObject) -> JsonObject:
    return {"type": "tool_input", "id": call_id, "name": name, "delta": json.dumps(given)}


def _searches(step: int) -> list[JsonObject]:
    """Searches for what no page has, so that their results do not depend on the pages."""
    queries = [
        " ".join(f"{MARKER}{step}x{number}x{word}" for word in range(QUERY_BYTES // 16)) for number in range(SEARCHES)
    ]
    return [_tool(f"s{step}n{number}", "search_docs", {"query": query}) for number, query in enumerate(queries)]


def _extra(step: int) -> list[JsonObject]:
    """Now and then something else: a failure, progress, an effect."""
    match step:
        case 5:
            return [_tool("x", "calculator", {"expression": "1 / 0"})]
        case 8:
            return [_tool("x", "slow_count", {"to": 3, "pause_seconds": 0.05})]
        case 11:
            return [_tool("x", "send_note", {"text": MARKER})]
        case _:
            return []
