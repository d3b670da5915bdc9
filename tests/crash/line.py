"""A line between our processes and a server that can be bad: slow, silent, cut, cut in the middle of a reply.

It carries bytes of any protocol, over a unix socket or TCP. A stream cannot lose bytes in its middle, so a line whose replies
were swallowed is cut when it is good again: what was asked meanwhile may have happened, and nobody was told.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Literal

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Fault = Literal["slow", "silent", "cut", "cut in a reply"]
FAULTS: Final[tuple[Fault, ...]] = ("slow", "silent", "cut", "cut in a reply")
BAD_SECONDS: Final = 1.0
SLOW_SECONDS: Final = 0.2  # for every piece of a reply


class Line:
    """All connections to one server. `connect` opens one to the server itself."""

    def __init__(self, connect: Callable[[], Awaitable[Ends]]) -> None:
        self._connect = connect
        self._fault: Fault | None = None
        self._chance = random.Random()
        self._carried: set[asyncio.Task[None]] = set()
        self._connections: set[asyncio.Task[None]] = set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until it ends or is cut."""
        connection = asyncio.create_task(self._carry(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)
        await asyncio.wait((connection,))

    async def close(self) -> None:
        """Break every connection and wait until all have ended."""
        while self._connections:
            self.cut()
            await asyncio.wait(self._connections, timeout=BAD_SECONDS)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await self._connect()
        except OSError:  # the server is away
            writer.transport.abort()
            return
        ways = {
            asyncio.create_task(self._pass_on(reader, far_writer, replies=False)),
            asyncio.create_task(self._pass_on(far_reader, writer, replies=True)),
        }
        self._carried |= ways
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.wait(ways)
        self._carried -= ways
        for each in (writer, far_writer):
            each.transport.abort()

    async def go_bad(self, chance: random.Random) -> Fault:
        """Be bad for a while, in one of the ways. Which it was."""
        self._chance, fault = chance, chance.choice(FAULTS)
        if fault != "cut":
            self._fault = fault
            await asyncio.sleep(BAD_SECONDS)
            self._fault = None
        if fault != "slow":
            self.cut()
        return fault

    def cut(self) -> None:
        """Break every connection; new ones are carried."""
        for way in self._carried:
            way.cancel()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, replies: bool) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                match self._fault if replies else None:
                    case "slow":
                        await asyncio.sleep(SLOW_SECONDS)
                    case "silent":
                        continue
                    case "cut in a reply":
                        writer.write(data[: self._chance.randrange(len(data))])
                        await writer.drain()
                        return
                    case _:
                        pass
                writer.write(data)
                await writer.drain()


@asynccontextmanager
async def unix_line(path: str, upstream: str) -> AsyncIterator[Line]:
    """A line at a path to a server's unix socket."""
    line = Line(lambda: asyncio.open_unix_connection(upstream))
    server = await asyncio.start_unix_server(line.carry, path)
    try:
        yield line
    finally:
        server.close()
        await line.close()


@asynccontextmanager
async def tcp_line(port: int, upstream: str) -> AsyncIterator[Line]:
    """A line at a port of loopback to a server at "host:port"."""
    host, _, far_port = upstream.rpartition(":")
    line = Line(lambda: asyncio.open_connection(host, int(far_port)))
    server = await asyncio.start_server(line.carry, "127.0.0.1", port)
    try:
        yield line
    finally:
        server.close()
        await line.close()
