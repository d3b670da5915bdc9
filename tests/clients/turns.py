"""The scripted turns that the clients are driven through, and what to ask for each."""

import json
from pathlib import Path

from protocol.json import Json, JsonObject

# U+2028 and U+0085 are ends of a line to some clients' readers, the emoji is two halves to others.
WORDS = "One two \u2028three\u0085 four 你好 🌍👩‍👩‍👧 ha ha ha \n\n data: {} \r\n id: 7 "
LONG = WORDS * 3
SOURCES = "sources"  # recorded, see process.py
GAP_MS = 60  # a turn lives for seconds: a client that was cut comes back while it runs
HELD = "held"
HELD_MS = 3_600_000  # a gap that lasts until the test lets the turn go on, see process.py


def question(name: str) -> str:
    """What to ask for the turn of this name."""
    return f"Play the turn {name}."


def write_turns(folder: Path) -> None:
    """All of them, as files."""
    turns = {
        "text": [_call(_text(LONG))],
        "thinking": [_call(_thinking(WORDS), _text(LONG))],
        "tools": [
            _call(
                _text("Two at once. "),
                _tool("a", "calculator", expression="2 + 2"),
                _tool("b", "slow_count", to=3, pause_seconds=0.2),
            ),
            _call(_tool("c", "calculator", expression="1 / 0"), _tool("d", "nothing")),
            _call(_text(LONG)),
        ],
        "approval": [
            _call(_text("May I? "), _tool("a", "ask_before_sending", text="Hello.")),
            _call(_text(LONG)),
        ],
        HELD: [
            _call(_text(WORDS), _tool("a", "calculator", expression="2 + 2"), _tool("b", "nothing"), gap_ms=0),
            _call(_text(WORDS), gap_ms=HELD_MS),
        ],
        "silent": [_call(_tool("a", "slow_count", to=1, pause_seconds=5)), _call(_text("Done."))],
        "error": [_call(_text(LONG), {"type": "error", "kind": "invalid"})],
        "retry": [_call(_text(WORDS), {"type": "error", "kind": "upstream"}, again=_text(LONG))],
        "long": [_call(_text(LONG * 20))],
        "short": [_call(_text("Short."))],
    }
    for name, calls in turns.items():
        head = {"v": 1, "name": name, "input": question(name)}
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [head, *calls]))


def _call(*events: JsonObject, again: JsonObject | None = None, gap_ms: int = GAP_MS) -> JsonObject:
    """A call of the model, and what it says instead where it is made again."""
    return {"events": _ended(*events), "again": _ended(again) if again else [], "gap_ms": gap_ms}


def _ended(*events: JsonObject) -> list[Json]:
    if events[-1]["type"] == "error":
        return [*events]
    asks = any(event["type"] == "tool_input" for event in events)
    return [*events, {"type": "stop", "reason": "tool_use" if asks else "end_turn"}]


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text, "words": True}


def _thinking(text: str) -> JsonObject:
    return {"type": "thinking", "text": text, "signature": "c2lnbmVk"}


def _tool(call_id: str, name: str, **given: object) -> JsonObject:
    return {"type": "tool_input", "id": call_id, "name": name, "delta": json.dumps(given)}
