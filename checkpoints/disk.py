"""Writes that are on the disk, and on a replica where one is asked for, before they are answered.

They go over a connection of their own, because it waits with them: on the shared one every append would wait, too. Those that
come while the disk is waited for go together, and wait once. The server waits for what came over the same connection: over
a new one it would confirm what it may have lost.

A server without an append-only file, or too old to tell, confirms everything: how it keeps data is its operator's choice.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from protocol.errors import StoreUnavailable
from resp.client import Client
from resp.connection import Connection, Part, Reply
from resp.errors import ReplyError
from resp.script import Script

DISK_WAIT_MS: Final = 500  # less than a command may take, and well inside the lease
REPLICA_WAIT_MS: Final = 250  # it only has to receive: its disk matters where both servers die at once
NUDGE_SECONDS: Final = 0.002

Arguments = Callable[[bytes], Sequence[Part]]  # of the server's identity


@dataclass(slots=True)
class _Server:
    connection: Connection
    identity: bytes
    tells: bool = True


@dataclass(frozen=True, slots=True)
class _Write:
    script: Script
    keys: Sequence[str]
    arguments: Arguments
    done: "asyncio.Future[tuple[Reply, bool]]"


class Disk:
    """The durable writes of a process. `replicas` is how many must have received them, too."""

    def __init__(self, client: Client, *, replicas: int = 0) -> None:
        self._client = client
        self._line = client.twin()
        self._replicas = replicas
        self._server: _Server | None = None
        self._waiting: list[_Write] = []
        self._pump: asyncio.Task[None] | None = None

    async def write(self, script: Script, keys: Sequence[str], arguments: Arguments) -> tuple[Reply, bool]:
        """Run a script; its reply, and whether it is confirmed. Raises as `Client.run`."""
        write = _Write(script, keys, arguments, asyncio.get_running_loop().create_future())
        self._waiting.append(write)
        if self._pump is None:
            self._pump = asyncio.get_running_loop().create_task(self._write_all())
        return await write.done

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                writes, self._waiting = self._waiting, []
                try:
                    await self._write_together(writes)
                except Exception as error:  # noqa: BLE001 - whoever waits for this task must hear of whatever it was
                    _fail(writes, error)
        finally:
            self._pump = None
            _fail(self._waiting, StoreUnavailable())
            self._waiting = []

    async def _write_together(self, writes: list[_Write]) -> None:
        server = await self._connected()
        runs = [server.connection.run(write.script, write.keys, *write.arguments(server.identity)) for write in writes]
        replies = await asyncio.gather(*runs, return_exceptions=True)
        # Only now, with the writes answered and so handed to the disk. Sent along with them, the server would begin to wait
        # first and to write when something wakes it: 100 ms later.
        written = any(not isinstance(reply, BaseException) for reply in replies)
        confirmed = written and await self._confirmed(server)
        for write, reply in zip(writes, replies, strict=True):
            if isinstance(reply, BaseException):
                _fail([write], reply)
            elif not write.done.done():
                write.done.set_result((reply, confirmed))

    async def _connected(self) -> _Server:
        connection = await self._line.connected()
        if self._server is None or self._server.connection is not connection:
            # A server that was started again, or another one that took its place, has another identity (C9).
            info: bytes = await connection.send("INFO", "server")
            named = [line for line in info.splitlines() if line.startswith(b"run_id:")]
            self._server = _Server(connection, named[0][7:] if named else b"")
        return self._server

    async def _confirmed(self, server: _Server) -> bool:
        confirmed = True
        if server.tells:
            waiting = server.connection.send("WAITAOF", 1, 0, DISK_WAIT_MS)
            nudging = asyncio.get_running_loop().create_task(self._nudge(waiting))
            try:
                local, _ = await waiting
                confirmed = bool(local)
            except ReplyError as error:
                confirmed = "replica" not in str(
                    error
                )  # else it was a primary a moment ago, and cannot confirm any more
                server.tells = not confirmed
            finally:
                nudging.cancel()
        if self._replicas and confirmed:
            confirmed = await server.connection.send("WAIT", self._replicas, REPLICA_WAIT_MS) >= self._replicas
        return confirmed

    async def _nudge(self, waiting: "asyncio.Future[Reply]") -> None:
        # The disk is written to in the background, and an idle server looks for the result when something wakes it: by itself
        # ten times a second. Asked for anything, it looks at once.
        pause = NUDGE_SECONDS
        with suppress(StoreUnavailable):
            while not waiting.done():
                await asyncio.sleep(pause)
                await self._client.execute("PING")
                pause *= 2


def _fail(writes: list[_Write], error: BaseException) -> None:
    for write in writes:
        if not write.done.done():
            write.done.set_exception(error)
