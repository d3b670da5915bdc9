"""A strict upstream that speaks the wire of Anthropic's Messages API, on loopback.

It answers with prepared bytes, piece by piece, and refuses what the real one refuses (`anthropic_rules`), in its error
shapes. An answer can be cut at any byte, be held, or go on in pings for ever. Requests are kept as received.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from protocol.json import JsonObject
from tests.fakes.anthropic_rules import Signed, complaint

Event = dict[str, Any]

PING = b'event: ping\ndata: {"type": "ping"}\n\n'
PING_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class Reply:
    """`end`: the body is closed properly, the connection is cut, or kept until the client goes, silently or in pings."""

    pieces: Sequence[bytes]
    end: Literal["close", "cut", "hold", "ping"] = "close"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class Upstream:
    """`async with Upstream() as upstream:` then `upstream.replies.append(…)` for every call to come.

    With `last_again` the last reply answers every further call too. `complaints` says what was refused; `quiet` is set while
    no connection is open, `idle` while none is being answered. Its other forms, of the clouds, are in `tests/fakes/clouds.py`.
    """

    content_type = "text/event-stream; charset=utf-8"

    def __init__(self, *, last_again: bool = False, limit_tokens: int | None = None) -> None:
        self.replies: list[Reply] = []
        self.last_again = last_again
        self.limit_tokens = limit_tokens
        self.requests: list[JsonObject] = []
        self.paths: list[str] = []
        self.betas: list[set[str]] = []
        self.complaints: list[str] = []
        self.dropped: list[str] = []
        self.connections = 0
        self.ping = PING
        self.pinging = False  # the held reply goes on in pings
        self.held = asyncio.Event()  # a held reply was written
        self.left = asyncio.Event()  # the client of a held reply has gone
        self.pinged = asyncio.Event()  # such a client was sent pings
        self.quiet, self.idle = asyncio.Event(), asyncio.Event()
        self.signed = Signed()
        self._open: set[asyncio.StreamWriter] = set()
        self.quiet.set()
        self.idle.set()

    def forget(self) -> None:
        """Begin anew: no replies are left, nothing was asked or signed."""
        self.replies, self.requests, self.complaints, self.dropped = [], [], [], []
        self.signed = Signed()
        for event in (self.held, self.left, self.pinged):
            event.clear()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._open:
            writer.close()
        await self.quiet.wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        self.connections += 1
        self.quiet.clear()
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.idle.set()
            self._open.discard(writer)
            if not self._open:
                self.quiet.set()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers["content-length"]))
        self.paths.append(first.split(" ")[1])
        self.idle.clear()
        reply = self._reply(raw, headers)
        await _write(writer, reply, self.content_type)
        if reply.end in ("hold", "ping"):
            self.pinging = reply.end == "ping"
            self.held.set()
            await self._outlast(reader, writer, self.ping if reply.end == "ping" else b"")
            self.left.set()
        self.idle.set()
        return reply.end == "close"

    async def _outlast(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ping: bytes) -> None:
        """Until the client closes: nothing else is expected of it."""
        gone = asyncio.ensure_future(reader.read(1))
        while not (await asyncio.wait([gone], timeout=PING_SECONDS if ping else None))[0]:
            writer.write(b"%x\r\n%b\r\n" % (len(ping), ping))
            self.pinged.set()

    def _reply(self, raw: bytes, headers: dict[str, str]) -> Reply:
        turned_away = self.turned_away(raw, headers)
        if turned_away is not None:
            return turned_away
        request = self.asked(json.loads(raw))
        self.requests.append(request)
        betas = {beta for beta in headers.get("anthropic-beta", "").split(",") if beta}
        self.betas.append(betas)
        wrong = _unreadable(raw) or complaint(request, betas, self.signed) or self._too_long(raw)
        if wrong:
            self.complaints.append(wrong)
            return self.refused("invalid_request_error", 400, wrong)
        self.dropped += self.signed.misfits(request)
        reply = self.replies[0] if self.last_again and len(self.replies) == 1 else self.replies.pop(0)
        blocks, reason = _said(self.events(b"".join(reply.pieces)))
        self.signed.sign(request, blocks, paused=reason in ("pause_turn", "compaction"))
        return reply

    def turned_away(self, raw: bytes, headers: dict[str, str]) -> Reply | None:
        """What somebody gets who may not ask, or does not ask here."""
        if not headers.get("x-api-key") and not headers.get("authorization"):
            return refused("authentication_error", 401, "x-api-key header is required")
        if "anthropic-version" not in headers:
            return refused("invalid_request_error", 400, "anthropic-version: header is required")
        return None

    def asked(self, request: Event) -> Event:
        """The request as the Messages API has it."""
        return request

    def refused(self, kind: str, status: int, message: str = "sk-ant-secret", **headers: str) -> Reply:
        """An answer that is an error."""
        return refused(kind, status, message, **headers)

    def body(self, events: Sequence[Event]) -> bytes:
        """Events as they are sent."""
        return body(events)

    def broken(self) -> bytes:
        """What is sent where it breaks off."""
        return sse(error("overloaded_error"))

    def events(self, payload: bytes) -> Iterator[Event]:
        """What was sent, as far as it can be read."""
        for line in payload.decode(errors="replace").splitlines():
            with suppress(ValueError):
                yield json.loads(line.removeprefix("data: "))

    def _too_long(self, raw: bytes) -> str:
        tokens = len(raw) // 4
        if self.limit_tokens is None or tokens <= self.limit_tokens:
            return ""
        return f"prompt is too long: {tokens} tokens > {self.limit_tokens} maximum"


async def _write(writer: asyncio.StreamWriter, reply: Reply, content_type: str) -> None:
    headers = {"content-type": content_type, "request-id": "req_1"} | reply.headers
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} Any\r\ntransfer-encoding: chunked\r\n{lines}\r\n".encode())
    for piece in reply.pieces:
        if piece:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
    if reply.end == "close":
        writer.write(b"0\r\n\r\n")
    await writer.drain()


def _unreadable(raw: bytes) -> str:
    try:
        json.dumps(json.loads(raw), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "The request body is not valid JSON: no low surrogate in string"
    return ""


def _said(events: Iterator[Event]) -> tuple[list[Event], str]:
    """The blocks that the events hold, as far as they make sense, and the reason to stop."""
    blocks: list[Event] = []
    reason = ""
    for event in events:
        try:
            if event["type"] == "content_block_start":
                blocks.append({key: value for key, value in event["content_block"].items() if value is not None})
            elif event["type"] == "content_block_delta":
                _grow(blocks[-1], event["delta"])
            elif event["type"] == "message_delta":
                reason = str(event["delta"].get("stop_reason"))
        except (KeyError, IndexError, TypeError, AttributeError):
            continue  # what was broken on purpose is not signed
    return [block | _input(block) for block in blocks], reason


def _input(block: Event) -> Event:
    try:
        return {"input": json.loads(block["input"])} if isinstance(block.get("input"), str) else {}
    except ValueError:
        return {"input": {}}


def _grow(block: Event, delta: Event) -> None:
    match delta:
        case {"type": "input_json_delta", "partial_json": piece}:
            block["input"] = (block["input"] or "") + piece
        case {"type": "citations_delta", "citation": citation}:
            block["citations"] = [*block.get("citations", []), citation]
        case _:
            for key in delta.keys() - {"type"}:
                block[key] = block.get(key, "") + delta[key]


def sse(event: Event) -> bytes:
    """An event as bytes, its characters not escaped, so that a cut can fall inside one; but for what is no character."""
    try:
        written = json.dumps(event, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        written = json.dumps(event).encode()
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), written)


def body(events: Sequence[Event]) -> bytes:
    return b"".join(map(sse, events))


def spoken(*blocks: Sequence[Event], reason: str | None = "end_turn", model: str = "claude-x-1") -> list[Event]:
    """A whole message of the given blocks."""
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "usage": usage}
    return [
        {"type": "message_start", "message": {**message, "stop_reason": None}},
        {"type": "ping"},
        *({**event, "index": index} for index, block in enumerate(blocks) for event in block),
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]


def block(start: Event, *deltas: Event) -> list[Event]:
    return [
        {"type": "content_block_start", "content_block": start},
        *({"type": "content_block_delta", "delta": delta} for delta in deltas),
        {"type": "content_block_stop"},
    ]


def text(*deltas: str) -> list[Event]:
    return block(
        {"type": "text", "text": "", "citations": None}, *({"type": "text_delta", "text": delta} for delta in deltas)
    )


def thinking(*deltas: str, signature: str) -> list[Event]:
    return block(
        {"type": "thinking", "thinking": "", "signature": ""},
        *({"type": "thinking_delta", "thinking": delta} for delta in deltas),
        {"type": "signature_delta", "signature": signature},
    )


def tool_use(call_id: str, name: str, *fragments: str) -> list[Event]:
    return block(
        {"type": "tool_use", "id": call_id, "name": name, "input": {}},
        *({"type": "input_json_delta", "partial_json": fragment} for fragment in fragments),
    )


def error(kind: str, message: str = "Internal: key sk-ant-secret at http://10.0.0.1") -> Event:
    """The error event, which may come inside a stream; its text must not reach anybody."""
    return {"type": "error", "error": {"type": kind, "message": message}}


def refused(kind: str, status: int, message: str = "sk-ant-secret", **headers: str) -> Reply:
    answer = json.dumps({**error(kind, message), "request_id": "req_1"}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply([answer], status=status, headers={"content-type": "application/json", **named})
