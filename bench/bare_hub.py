"""The floor of a fan-out: the same pushes from the same store, written to the sockets as they come, and nothing else.

No ring, no cursors, no catching up, no heartbeats, no HTTP but a fixed head: what is left is what any Python server on this
machine pays for a delivery. GET /<run id>.
"""

import asyncio
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final, cast

import uvloop

from app.process import calm_garbage_collector, raise_file_limit
from bench.processes import Usage
from bench.runs import PATIENCE
from resp import connection as resp
from resp.address import Address
from resp.keys import Keys

_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n8\r\n: open\n\n\r\n"
)


class BareHub:
    """The process, as seen from outside."""

    def __init__(self, store: Address, keys: Keys) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, store, keys), daemon=True)
        self._process.start()
        theirs.close()
        self.address: tuple[str, int] = self._pipe.recv()
        assert self._process.pid is not None
        self.usage = Usage(self._process.pid)

    def close(self) -> None:
        self._pipe.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()


def _serve(pipe: Connection, store: Address, keys: Keys) -> None:
    raise_file_limit()
    calm_garbage_collector()
    uvloop.run(_main(pipe, store, keys))


async def _main(pipe: Connection, store: Address, keys: Keys) -> None:
    loop = asyncio.get_running_loop()
    closed = asyncio.Event()
    loop.add_reader(pipe.fileno(), closed.set)
    hub = _Hub(keys)
    hub.connection = await resp.connect(store, bounds=replace(PATIENCE, in_flight=1 << 20), on_push=hub.on_push)
    server = await loop.create_server(lambda: _Reader(hub), "127.0.0.1", 0, backlog=4_096)
    pipe.send(server.sockets[0].getsockname())
    await closed.wait()


class _Hub:
    """Sockets by channel."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._sockets: dict[bytes, list[asyncio.Transport]] = {}
        self.connection: resp.Connection | None = None
        self.joined: asyncio.Future[resp.Reply] | None = None  # the newest subscription

    def join(self, run_id: str, socket: asyncio.Transport) -> bytes:
        channel = self._keys.live(run_id).encode()
        if channel not in self._sockets:
            assert self.connection is not None
            self._sockets[channel] = []
            self.joined = self.connection.send("SSUBSCRIBE", channel)
        self._sockets[channel].append(socket)
        return channel

    def leave(self, channel: bytes, socket: asyncio.Transport) -> None:
        self._sockets[channel].remove(socket)

    def on_push(self, push: resp.Push) -> None:
        if push[0] == b"smessage":
            payload = push[2].partition(b"\n")[2]
            chunk = b"%x\r\n%s\r\n" % (len(payload), payload)
            for socket in self._sockets[push[1]]:
                socket.write(chunk)


class _Reader(asyncio.Protocol):
    def __init__(self, hub: _Hub) -> None:
        self._hub = hub
        self._socket: asyncio.Transport | None = None
        self._channel = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._socket is not None and data.endswith(b"\r\n\r\n"):
            self._socket.write(_HEAD)
            self._channel = self._hub.join(data.split(b" ", 2)[1][1:].decode(), self._socket)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._socket is not None and self._channel:
            self._hub.leave(self._channel, self._socket)
