"""A line between a client and a server that a test can hold, cut or make one-sided."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from resp.address import Address

Conversation = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Proxy:
    """Forwards a unix socket."""

    def __init__(self, upstream: Address) -> None:
        self.address = upstream
        self._upstream = upstream
        self._gates: set[asyncio.Event] = set()
        self._lines: set[asyncio.Task[None]] = set()

    def hold(self) -> None:
        """Of the connections there are, let commands reach the server and no reply come back."""
        for gate in self._gates:
            gate.clear()

    def release(self) -> None:
        """Let the replies kept back through."""
        for gate in self._gates:
            gate.set()

    def cut(self) -> None:
        """Break every connection; new ones are forwarded."""
        for line in self._lines:
            line.cancel()

    def turn_to(self, upstream: Address) -> None:
        """From now on another server is there, as after a failover; open connections break."""
        self._upstream = upstream
        self.cut()

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until it ends or is cut."""
        far_reader, far_writer = await asyncio.open_unix_connection(self._upstream.path)
        always, gate = asyncio.Event(), asyncio.Event()
        always.set()
        gate.set()
        self._gates.add(gate)
        lines = {
            asyncio.ensure_future(self._pass_on(reader, far_writer, always)),
            asyncio.ensure_future(self._pass_on(far_reader, writer, gate)),
        }
        self._lines |= lines
        await asyncio.wait(lines, return_when=asyncio.FIRST_COMPLETED)
        for line in lines:
            line.cancel()
        await asyncio.wait(lines)
        self._lines -= lines
        self._gates.discard(gate)
        for each in (writer, far_writer):
            each.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                await gate.wait()
                writer.write(data)
                await writer.drain()


@asynccontextmanager
async def played(conversation: Conversation) -> AsyncIterator[Address]:
    """A server whose part the test plays. Whoever connects must have left at the end."""
    conversations: list[asyncio.Task[None]] = []
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        conversations.append(task)
        if not over.is_set():
            await conversation(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    with tempfile.TemporaryDirectory(prefix="played-") as folder:
        address = Address(path=str(Path(folder) / "socket"))
        server = await asyncio.start_unix_server(serve, address.path)
        try:
            yield address
        finally:
            over.set()
            # Whoever was let in a moment ago is no conversation yet. They come in order: once we were shown out, nobody is left.
            reader, writer = await asyncio.open_unix_connection(address.path)
            await reader.read()
            writer.close()
            await writer.wait_closed()
            server.close()
            await asyncio.gather(*conversations)


@asynccontextmanager
async def proxied(upstream: Address) -> AsyncIterator[Proxy]:
    """A proxy in front of a server."""
    proxy = Proxy(upstream)
    async with played(proxy.forward) as proxy.address:
        try:
            yield proxy
        finally:
            proxy.cut()
