"""A strict upstream that speaks the wire of Anthropic's Messages API, on loopback.

It answers with prepared bytes, piece by piece, and refuses requests that the real one refuses: unanswered tool calls, empty
text, thinking without its signature, sampling parameters, more than four cache breakpoints. Requests are kept as received.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from protocol.json import JsonObject

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """`end`: the body is closed properly, the connection is cut, or kept open until the client goes."""

    pieces: Sequence[bytes]
    end: Literal["close", "cut", "hold"] = "close"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class Upstream:
    """`async with Upstream() as upstream:` then `upstream.replies.append(…)` for every call to come."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.requests: list[JsonObject] = []
        self.connections = 0
        self.held = asyncio.Event()  # a held reply was written
        self.left = asyncio.Event()  # the client of a held reply has gone

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length: ")[1].split("\r\n")[0])
        request = json.loads(await reader.readexactly(length))
        self.requests.append(request)
        wrong = complaint(request)
        reply = refused("invalid_request_error", 400, wrong) if wrong else self.replies.pop(0)
        extra = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        writer.write(f"HTTP/1.1 {reply.status} Any\r\ntransfer-encoding: chunked\r\n{extra}".encode())
        writer.write(b"content-type: text/event-stream; charset=utf-8\r\n\r\n")
        for piece in reply.pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        if reply.end == "close":
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        if reply.end == "hold":
            self.held.set()
            await reader.read(1)  # nothing is expected: it returns when the client closes
            self.left.set()
        return reply.end == "close"


def sse(event: Event) -> bytes:
    """An event as bytes, its characters not escaped, so that a cut can fall inside one."""
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


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
    answer = json.dumps(error(kind, message)).encode()
    return Reply([answer], status=status, headers={name.replace("_", "-"): value for name, value in headers.items()})


def complaint(request: JsonObject) -> str:
    """Why the real one would refuse this request; empty where it would not."""
    return next(_complaints(request), "")


def _complaints(request: Any) -> Iterator[str]:
    if {"temperature", "top_p", "top_k"} & request.keys():
        yield "sampling parameters are not supported"
    if json.dumps(request).count('"cache_control"') > 4:
        yield "a maximum of 4 blocks with cache_control may be provided"
    asked: list[str] = []
    for message in request["messages"]:
        answered = [part["tool_use_id"] for part in message["content"] if part["type"] == "tool_result"]
        if answered != asked:
            yield "tool_use ids were found without tool_result blocks immediately after"
        asked = [part["id"] for part in message["content"] if part["type"] == "tool_use"]
        if not message["content"] or any(part.get("text") == "" for part in message["content"]):
            yield "text content blocks must be non-empty"
        if any(part["type"] == "thinking" and not part.get("signature") for part in message["content"]):
            yield "thinking.signature: Field required"
    if request["messages"][-1]["role"] != "user":
        yield "this model does not support assistant message prefill"
