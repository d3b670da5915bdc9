"""The servers that can be killed: real ones, started again at the same address and on what is left of their data."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from protocol.errors import StoreUnavailable
from resp.client import Client
from resp.keys import Keys
from tests.postgresql import PostgreSQLServer
from tests.servers import Server
from tests.temporal import TemporalServer

LOOK_SECONDS: Final = 0.05
# The writes whose answers wait for the disk: claims and boundaries, seals, stops, inputs (S17).
_CONFIRMED: Final = (b"$4\r\ngrip\r\n", b"$8\r\nreserved\r\n", b":seal\r\n", b"$4\r\nstop\r\n", b":inbox\r\n")
_END: Final = b"$4\r\nEXEC\r\n"

Value = TypeVar("Value")


class Servers:
    """Valkey and Temporal, and perhaps PostgreSQL. What kills one does something while it is away."""

    def __init__(self, valkey: Server, temporal: TemporalServer, postgresql: PostgreSQLServer | None) -> None:
        self.valkey = valkey
        self.temporal = temporal
        self.postgresql = postgresql
        self.client = Client(valkey.address)
        # A server's process is tied to the thread that started it.
        self._starter = ThreadPoolExecutor(1)

    async def sync(self, how: str) -> None:
        """How soon Valkey brings to the disk what it has answered: "always" before it does."""
        await self.ask("CONFIG", "SET", "appendfsync", how)

    async def ask(self, *command: str) -> Any:
        """Valkey's answer, as soon as it gives one."""
        while True:
            try:
                return await self.client.execute(*command)
            except StoreUnavailable:
                await asyncio.sleep(LOOK_SECONDS)

    async def erase(self, run_id: str) -> None:
        """Take everything that the store has of a run."""
        keys = Keys()
        names = (keys.meta, keys.request, keys.log, keys.deltas, keys.ledger, keys.seal)
        await self.ask("DEL", *(name(run_id) for name in names))

    async def length(self, run_id: str) -> int:
        """How long the run's log is."""
        return int(await self.ask("HGET", Keys().meta(run_id), "next") or 0)

    async def kill_valkey(self, after: Callable[[], None]) -> None:
        """Kill it, do something while it is away, and start it on its data."""
        await self._in_thread(self.valkey.kill)
        after()
        await self._in_thread(self.valkey.start)
        await self.sync("always")

    async def lose_tail(self, after: Callable[[], None]) -> bytes:
        """The same, and what no disk had confirmed is gone. That is what is returned."""
        lost = await self._in_thread(lambda: self.valkey.lose_tail(confirmed))
        after()
        await self._in_thread(self.valkey.start)
        await self.sync("always")
        return lost

    async def empty_valkey(self, after: Callable[[], None]) -> None:
        """The same, and everything is gone."""
        await self._in_thread(self.valkey.empty)
        after()
        await self._in_thread(self.valkey.start)
        await self.sync("always")

    async def kill_database(self, after: Callable[[], None]) -> None:
        """The same with the database."""
        assert self.postgresql is not None
        await self._in_thread(self.postgresql.kill)
        after()
        await self._in_thread(self.postgresql.start)

    async def kill_temporal(self, after: Callable[[], None]) -> None:
        """The same with Temporal."""
        await self._in_thread(self.temporal.kill)
        after()
        await self._in_thread(self.temporal.start)

    async def _in_thread(self, work: Callable[[], Value]) -> Value:
        return await asyncio.get_running_loop().run_in_executor(self._starter, work)

    def close(self) -> None:
        self._starter.shutdown()


def confirmed(written: bytes) -> int:
    """How much of an append-only file must have been on the disk: up to the end of the last write that waited for it."""
    last = max(written.rfind(mark) for mark in _CONFIRMED)
    end = written.find(_END, last)
    return len(written) if end < 0 else end + len(_END)
