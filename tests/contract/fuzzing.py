"""Random requests: bodies, cursors, handles, tokens. Case n of a seed is always the same, whatever ran before it."""

import base64
import json
import random  # noqa: TID251 - seeded by the case's number: the same numbers every time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_from_bytes

from tests.contract.direct import Request

ODD = [
    "",
    "\x00",
    "\ud800",
    "\udfff\ud83d",
    "\U0001f600",
    "a" * 5_000,
    "\u202e",
    "é\u0301",
    "\\u0000",
    "'\"><",
    "{}",
    "null",
    "%00",
    "../",
]
NUMBERS = [0, -1, 2**53, 2**63, 10**400, -(10**18), 1.5, 1e308, True, False, None]
NAMES = ["message", "messages", "id", "conversation_id", "thread_id", "run_id", "assistant", "context", "trigger", "role", "parts", "text",
         "type", "content", "history", "state", "toolCallId", "approval", "approvalId", "output", "title", "reason",
         "messageId", "expected_head"]  # fmt: skip
WORDS = [
    "user",
    "assistant",
    "text",
    "file",
    "steer",
    "approve",
    "deny",
    "answer",
    "approval-responded",
    "output-available",
    "regenerate-message",
    "hi",
    "c1",
    "bench",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Texts that count: what a mutation starts from."""

    handles: Sequence[str]
    run_ids: Sequence[str]
    tokens: Sequence[str]
    bearers: Sequence[str]
    cookies: Sequence[str]


def case(seed: int, number: int, known: Known) -> Request:
    """Case `number` of a seed."""
    chance = random.Random(f"{seed}-{number}")
    kind: Callable[[random.Random, Known], Request] = chance.choice(
        (_body, _cursor, _handle, _token, _input, _conversation)
    )
    return kind(chance, known)


def _body(chance: random.Random, known: Known) -> Request:
    query = chance.choice((b"stream=0", b"stream=0", b"", b"stream=" + _bytes(chance, 4), _query(chance)))
    headers = [(b"cookie", chance.choice(known.cookies).encode())]
    if chance.random() < 0.2:
        headers.append(
            (b"idempotency-key", chance.choice((*known.run_ids, _text(chance)[:99])).encode("utf-8", "surrogatepass"))
        )
    return Request(
        method="POST", path="/api/chat", query=query, headers=headers, body=_json(chance), leaves=chance.random() < 0.1
    )


def _cursor(chance: random.Random, known: Known) -> Request:
    index = chance.choice(
        (
            str(chance.randint(-20, 20)),
            str(chance.randint(-(10**20), 10**20)),
            "01",
            "+1",
            "1e3",
            " 1",
            "\u0661",
            _text(chance)[:20],
        )
    )
    query = b"startIndex=" + quote_from_bytes(index.encode("utf-8", "surrogatepass")).encode()
    if chance.random() < 0.2:
        query += b"&" + _query(chance)
    headers = [(b"cookie", chance.choice(known.cookies).encode())]
    if chance.random() < 0.3:
        headers += [(b"last-event-id", index.encode("utf-8", "surrogatepass"))] * chance.choice((1, 1, 2))
    name = chance.choice((*known.handles, "c1"))
    return Request(
        method="GET", path=f"/api/chat/{name}/stream", query=query, headers=headers, leaves=chance.random() < 0.2
    )


def _handle(chance: random.Random, known: Known) -> Request:
    name = _mutated(chance, chance.choice((*known.handles, *known.run_ids)))
    method, path = chance.choice(
        (
            ("GET", "/api/chat/{}/stream"),
            ("POST", "/api/chat/{}/stop"),
            ("POST", "/api/chat/{}/input"),
            ("GET", "/api/runs/{}"),
        )
    )
    headers = [(b"cookie", chance.choice(known.cookies).encode())]
    return Request(
        method=method, path=path.format(name), headers=headers, body=_json(chance) if method == "POST" else b""
    )


def _token(chance: random.Random, known: Known) -> Request:
    name, value = chance.choice((
        ("x-chat-resume-token", _mutated(chance, chance.choice(known.tokens))),
        ("authorization", f"Bearer {_mutated(chance, chance.choice(known.bearers))}"),
        ("authorization", _text(chance)),
        ("cookie", _mutated(chance, chance.choice(known.cookies))),
        ("x-turnkeep-owner", _text(chance)),
    ))  # fmt: skip
    headers = [(name.encode(), value.encode("utf-8", "surrogatepass"))]
    query = b"runId=" + _mutated(chance, chance.choice(known.run_ids)).encode("utf-8", "surrogatepass")
    path = chance.choice(
        (
            "/api/chat/stream",
            "/api/conversations",
            f"/api/runs/{chance.choice(known.run_ids)}",
            "/internal/runs",
            "/internal/dispatch",
        )
    )
    return Request(method="GET", path=path, query=query, headers=headers)


def _input(chance: random.Random, known: Known) -> Request:
    path = f"/api/chat/{chance.choice((*known.handles, *known.run_ids))}/{chance.choice(('input', 'stop'))}"
    return Request(
        method="POST", path=path, headers=[(b"cookie", chance.choice(known.cookies).encode())], body=_json(chance)
    )


def _conversation(chance: random.Random, known: Known) -> Request:
    headers = [(b"cookie", chance.choice(known.cookies).encode())]
    if chance.random() < 0.5:
        return Request(method="POST", path="/api/conversations", headers=headers, body=_json(chance))
    name = chance.choice(("c1", _text(chance)[:200].replace("/", "")))
    method = chance.choice(("GET", "GET", "PUT", "DELETE", "HEAD", "\x00"))
    return Request(method=method, path=f"/api/conversations/{name}/messages", query=_query(chance), headers=headers)


def _query(chance: random.Random) -> bytes:
    name = chance.choice(("startIndex", "runId", "stream", "wire", "sdk", "limit", "order", "x"))
    values = (b"0", b"1", b"-1", b"5", b"data", b"asc", _bytes(chance, 12))
    return b"&".join(name.encode() + b"=" + chance.choice(values) for _ in range(chance.choice((1, 1, 2, 99))))


def _bytes(chance: random.Random, longest: int) -> bytes:
    return chance.randbytes(chance.randint(0, longest))


def _text(chance: random.Random) -> str:
    return chance.choice(
        (
            chance.choice(ODD),
            chance.choice(WORDS),
            "".join(chr(chance.randint(0, 0x2FFF)) for _ in range(chance.randint(0, 30))),
        )
    )


def _mutated(chance: random.Random, text: str) -> str:
    place = chance.randint(0, len(text))
    return chance.choice((
        text[:place], text[place:], text[:place] + _text(chance) + text[place:], text[::-1], text.swapcase(), text + "=", text * 2, text + "." + text,
        text[:place] + chr((ord(text[place]) + 1) % 128) + text[place + 1 :] if place < len(text) else text + ".",
        base64.urlsafe_b64encode(_bytes(chance, 60)).decode(), _text(chance),
    ))  # fmt: skip


def _json(chance: random.Random) -> bytes:
    way = chance.random()
    if way < 0.1:
        return _bytes(chance, 200)
    if way < 0.15:
        return b"[" * chance.randint(1, 5_000) + b"]" * chance.randint(0, 5_000)
    body = json.dumps({chance.choice(NAMES): _value(chance, 0) for _ in range(chance.randint(0, 5))}).encode(
        "utf-8", "surrogatepass"
    )
    if way < 0.3:
        place = chance.randint(0, len(body))
        return body[:place] + _bytes(chance, 3) + body[place + chance.randint(0, 3) :]
    return body


def _value(chance: random.Random, depth: int) -> Any:
    way = chance.random()
    if way < 0.55 or depth > 4:
        return _text(chance)
    if way < 0.65:
        return chance.choice((*NUMBERS, float("nan"), float("inf")))
    if way < 0.8:
        return [_value(chance, depth + 1) for _ in range(chance.randint(0, 4))]
    return {chance.choice(NAMES): _value(chance, depth + 1) for _ in range(chance.randint(0, 4))}
