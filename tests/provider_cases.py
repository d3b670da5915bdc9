"""Misbehaviours of a model provider as data: `tests/cases/provider/*.json`, what the upstream does and what must come of it.

A case is one turn. Its replies are written as blocks, and then broken:

    say      blocks: {"text": […]}, {"thinking": […], "signature": […]}, {"tool": [id, name, piece…]}, {"served": [id, name, input]},
             {"result": [id, type, content]}, {"cites": […], "by": […]}, {"start": {…}, "deltas": […]}
    reason   why it stops (end_turn)            usage    of the last message_delta
    events   the events themselves, instead     bytes    the body itself, instead
    insert   [[place, event], …]                leave    types of events that are left out
    until    the bytes end after this text      end      close, cut, hold or ping (see `Reply`)
    status, error, message, headers             an answer that is an error

What must come of it is written by `python -m tests.provider_bench` and read by people: how the call ends at the adapter, the
frames by their types, how the turn ends, the next request's messages by their blocks, the ledger.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.fakes import anthropic_upstream as wire
from tests.fakes.anthropic_upstream import Event, Reply

FOLDER = Path(__file__).parent / "cases" / "provider"
Case = dict[str, Any]


@cache
def cases() -> dict[str, Case]:
    """All cases by name, in the order of the files."""
    return {case["name"]: case for path in sorted(FOLDER.glob("*.json")) for case in json.loads(path.read_text())}


def replies(case: Case) -> list[Reply]:
    return [_reply(asked) for asked in case["replies"]]


def shape(messages: Sequence[Any]) -> list[str]:
    """Messages as `role: type type`; an answer that is an error has a `!`."""
    return [f"{message['role']}: {' '.join(map(_kind, message['content']))}" for message in messages]


def kinds(frames: Sequence[Any]) -> str:
    """Frames by their types, runs of one type as `type*n`."""
    runs = [(kind, len(list(run))) for kind, run in groupby(str(frame["type"]) for frame in frames)]
    return " ".join(kind if count == 1 else f"{kind}*{count}" for kind, count in runs)


def _kind(block: Any) -> str:
    return str(block["type"]) + ("!" if block.get("is_error") else "")


def _reply(asked: Case) -> Reply:
    if "status" in asked:
        return _refused(asked)
    payload = asked["bytes"].encode("utf-8", "surrogateescape") if "bytes" in asked else wire.body(_events(asked))
    if "until" in asked:
        mark = asked["until"].encode()
        payload = payload[: payload.index(mark) + len(mark)]
    return Reply([payload], end=asked.get("end", "close"), headers=asked.get("headers", {}))


def _refused(asked: Case) -> Reply:
    if "bytes" in asked:
        return Reply([asked["bytes"].encode()], status=asked["status"], headers=asked.get("headers", {}))
    reply = wire.refused(asked["error"], asked["status"], asked.get("message", "sk-ant-secret"))
    payload = json.loads(reply.pieces[0])
    if "code" in asked:
        payload["error"]["details"] = {"error_code": asked["code"]}
    return Reply([json.dumps(payload).encode()], status=reply.status, headers=reply.headers | asked.get("headers", {}))


def _events(asked: Case) -> list[Event]:
    if "events" in asked:
        return list(asked["events"])
    told = wire.spoken(*map(_block, asked["say"]), reason=asked.get("reason", "end_turn"), model="claude-fable-5-2")
    for event in told:
        if event["type"] == "message_delta":
            event["usage"] |= asked.get("usage", {})
            event["delta"] |= asked.get("more", {})
    for place, event in asked.get("insert", []):
        told.insert(place, event)
    return [event for event in told if event["type"] not in asked.get("leave", [])]


def _block(asked: Case) -> list[Event]:
    match asked:
        case {"text": list(pieces)}:
            return wire.text(*pieces)
        case {"thinking": list(pieces), "signature": list(signatures)}:
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
            signed = [{"type": "signature_delta", "signature": piece} for piece in signatures]
            return wire.block({"type": "thinking", "thinking": "", "signature": ""}, *deltas, *signed)
        case {"tool": [str(call), str(name), *pieces]}:
            return wire.tool_use(call, name, *map(str, pieces))
        case {"served": [str(call), str(name), given]}:
            start = {"type": "server_tool_use", "id": call, "name": name, "input": {}}
            return wire.block(start, {"type": "input_json_delta", "partial_json": json.dumps(given)})
        case {"result": [str(call), str(kind), content]}:
            return wire.block({"type": kind, "tool_use_id": call, "content": content})
        case {"cites": list(pieces), "by": list(sources)}:
            cited = [{"type": "citations_delta", "citation": source} for source in sources]
            said = [{"type": "text_delta", "text": piece} for piece in pieces]
            return wire.block({"type": "text", "text": "", "citations": []}, *cited, *said)
        case _:
            return wire.block(asked["start"], *asked.get("deltas", []))


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What came of a case."""

    call: str  # at the adapter
    counted: list[int]  # there, as `usage`
    turn: str  # status and kind, finish reason
    frames: str
    history: list[str]  # as the next turn sent it
    ledger: dict[str, str]
    text: str
    usage: list[int]  # in, out, read from the cache, written to it
    asked: int  # requests of the turn
    effects: int  # calls of a tool that must not be repeated

    def written(self) -> Case:
        return {name: getattr(self, name) for name in self.__slots__}
