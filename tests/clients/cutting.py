"""A line to an HTTP server that breaks in the middle of a stream, as often as it is told."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

_FRAME = b"data: {"
_HEAD = b"HTTP/1.1 "


class Cutting:
    """Forwards to a server on loopback. Each of the `cuts` breaks one stream: in the middle of the frame after so many.

    A cut is an abort, as of a process that died, and what had been sent of the frame arrives. `made` counts them; `asked`
    holds the first line of every request. `on_back` is called when an answer begins after all cuts were made.
    """

    def __init__(self, upstream: str, cuts: Sequence[int] = (), on_back: Callable[[], object] = object) -> None:
        self._on_back = on_back
        self._host, _, port = upstream.removeprefix("http://").rpartition(":")
        self._port = int(port)
        self._cuts = list(cuts)
        self._lines: set[asyncio.Task[None]] = set()
        self.made = 0
        self.asked: list[str] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for line in self._lines:
            line.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        near = asyncio.current_task()
        assert near is not None
        self._lines.add(near)
        far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        asking = asyncio.create_task(self._ask(reader, far_writer))
        try:
            await self._answer(far_reader, writer)
        finally:
            asking.cancel()
            self._lines.discard(near)
            for each in (writer, far_writer):
                each.transport.abort()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                if data.startswith((b"GET ", b"POST ")):
                    self.asked.append(data.partition(b" HTTP/1.1")[0].decode())
                writer.write(data)
                await writer.drain()
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = 0
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                if data.startswith(_HEAD):
                    frames = 0
                    if not self._cuts:
                        self._on_back()
                passed = self._until_cut(data, frames)
                writer.write(passed)
                await writer.drain()
                if len(passed) < len(data):
                    return
                frames += data.count(_FRAME)
            writer.close()
            await writer.wait_closed()

    def _until_cut(self, data: bytes, frames: int) -> bytes:
        """What of the data goes through: all, or what comes before the cut."""
        if not self._cuts or frames + data.count(_FRAME) <= self._cuts[0]:
            return data
        at = -1
        for _ in range(self._cuts.pop(0) - frames + 1):
            at = data.index(_FRAME, at + 1)
        self.made += 1
        return data[: at + len(_FRAME) + 3]
