"""A small HTTP server for tests of clients: every byte it sends, and every cut, is the test's.

It answers one request per connection, bodies of unknown length in chunks, so that a cut and a clean end look different to a
client, as they do behind a real server. A client that leaves cancels its answer.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request. `target` is path and query as they came; names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def line(self) -> str:
        return f"{self.method} {self.target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`pieces` are sent as they come; one that raises `Cut` leaves the body without its end. Status 0: no answer at all."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: AsyncGenerator[bytes]


class Cut(Exception):
    """The connection ends here."""


async def whole(body: bytes, *, cut: bool = False) -> AsyncGenerator[bytes]:
    """A body in one piece."""
    if body:
        yield body
    if cut:
        raise Cut


Respond = Callable[[Asked], Awaitable[Answer]]


class Loopback:
    """Serves on a free port of the loopback interface while it is entered; `url` is its address."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._server: asyncio.Server | None = None
        self._answers: set[asyncio.Task[None]] = set()
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for answer in self._answers:
            answer.cancel()
        await asyncio.gather(*self._answers, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = asyncio.create_task(self._answer(reader, writer))
        self._answers.add(answer)
        await asyncio.wait([answer])
        self._answers.discard(answer)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = await _read_request(reader)
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # browsers open connections that they never use
        sending = asyncio.create_task(_send(await self._respond(asked), writer))
        leaving = asyncio.create_task(reader.read())
        try:
            await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sending.cancel()
            leaving.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method=method, target=target, headers=headers, body=body)


async def _send(answer: Answer, writer: asyncio.StreamWriter) -> None:
    if answer.status == 0:
        writer.transport.abort()
        return
    has_body = answer.status != HTTPStatus.NO_CONTENT
    framing = {"transfer-encoding": "chunked"} if has_body else {}
    headers = {**answer.headers, **framing, "connection": "close"}
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}", *(f"{k}: {v}" for k, v in headers.items())]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    if not has_body:
        return
    try:
        async with aclosing(answer.pieces) as pieces:
            async for piece in pieces:
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
    except Cut:
        return
    writer.write(b"0\r\n\r\n")
    await writer.drain()
