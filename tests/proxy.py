"""A line between a client and a server that a test can hold, cut or make one-sided."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from resp.address import Address


class Proxy:
    """Forwards a unix socket. While `held`, what the server says is kept back; `release` lets it through."""

    def __init__(self, upstream: Address, address: Address) -> None:
        self.address = address
        self._upstream = upstream
        self._open = asyncio.Event()
        self._open.set()
        self._lines: set[asyncio.Task[None]] = set()
        self._connections: set[asyncio.Task[None]] = set()

    def hold(self) -> None:
        """Let commands reach the server, and no reply come back."""
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def cut(self) -> None:
        """Break every connection; new ones are forwarded again."""
        for line in self._lines:
            line.cancel()

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        far_reader, far_writer = await asyncio.open_unix_connection(self._upstream.path)
        lines = {
            asyncio.ensure_future(self._pass_on(reader, far_writer, gated=False)),
            asyncio.ensure_future(self._pass_on(far_reader, writer, gated=True)),
        }
        self._lines |= lines
        await asyncio.wait(lines, return_when=asyncio.FIRST_COMPLETED)
        for line in lines:
            line.cancel()
        await asyncio.wait(lines)
        self._lines -= lines
        self._connections.discard(task)
        for each in (writer, far_writer):
            each.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, gated: bool) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                if gated:
                    await self._open.wait()
                writer.write(data)
                await writer.drain()

    async def settled(self) -> None:
        """Wait until every broken connection is gone."""
        while self._connections:
            await asyncio.wait(self._connections)


@asynccontextmanager
async def proxied(upstream: Address) -> AsyncIterator[Proxy]:
    """A proxy in front of a server."""
    with tempfile.TemporaryDirectory(prefix="proxy-") as folder:
        proxy = Proxy(upstream, Address(path=str(Path(folder) / "socket")))
        server = await asyncio.start_unix_server(proxy.forward, proxy.address.path)
        try:
            yield proxy
        finally:
            server.close()
            proxy.cut()
            await proxy.settled()
