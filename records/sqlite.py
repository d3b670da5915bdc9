"""SQLite: one file, shared by the processes of one machine.

- Threads of our own and the plain driver, a whole transaction at a time. An asynchronous driver changes threads at every
  statement, which takes a short transaction from 1.6 to 2.7 ms, and a cancelled caller breaks it off in the middle.
- One writer a process. Writers of a process queue for it, first come first served, instead of polling for the file's lock
  against each other.
- WAL, so that readers never wait for a writer.
- Writers BEGIN IMMEDIATE: a transaction that reads first and takes the lock later fails at once where another process
  wrote in between, whatever the busy timeout.
- synchronous=FULL, 0.3 ms a commit here: a run row is the proof that a run id was used. With NORMAL a power cut takes back
  the newest rows, and a client that repeats its request has the turn's tools called a second time.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, Pool, QueuePool, StaticPool, create_engine, event

Value = TypeVar("Value")

READERS = 4
CACHE_KB = 256  # of a connection. By itself it takes 2 MB, ten in a process; what is not in it is in the system's cache


class SQLite:
    """A `Driver`."""

    def __init__(self, address: URL, timeout_ms: int) -> None:
        address = address.set(drivername="sqlite")
        # Shorter than the caller's bound: a lock held elsewhere is then the database's answer.
        busy_ms = timeout_ms * 9 // 10
        if address.database in {None, "", ":memory:"}:  # such a database is its connection: there can be only one
            self._writer = self._reader = _Threads(_engine(address, busy_ms, "BEGIN IMMEDIATE", StaticPool), 1)
        else:
            self._writer = _Threads(_engine(address, busy_ms, "BEGIN IMMEDIATE", QueuePool), 1)
            self._reader = _Threads(_engine(address, busy_ms, "BEGIN", QueuePool), READERS)

    async def run(self, work: Callable[[Connection], Value], *, writes: bool) -> Value:
        return await (self._writer if writes else self._reader).run(work)

    async def close(self) -> None:
        await self._writer.close()
        await self._reader.close()


class _Threads:
    """An engine and the threads that use it."""

    def __init__(self, engine: Engine, count: int) -> None:
        self._engine = engine
        self._executor = ThreadPoolExecutor(count, thread_name_prefix="records")
        self._count = count
        self._opening = Lock()
        self._open = False

    async def run(self, work: Callable[[Connection], Value]) -> Value:
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._transaction, work)

    def _transaction(self, work: Callable[[Connection], Value]) -> Value:
        self._open_all()
        with self._engine.begin() as connection:
            return work(connection)

    def _open_all(self) -> None:
        """All connections with the first one: files that come one by one, by chance, over hours would look like a leak."""
        with self._opening:
            if not self._open:
                with ExitStack() as stack:
                    for _ in range(self._count):
                        stack.enter_context(self._engine.connect())
                self._open = True

    async def close(self) -> None:
        await asyncio.to_thread(self._executor.shutdown)
        self._engine.dispose()


def _engine(address: URL, busy_ms: int, begin: str, pool: type[Pool]) -> Engine:
    engine = create_engine(address, poolclass=pool, connect_args={"check_same_thread": False})

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: object) -> None:
        connection.isolation_level = None  # the driver begins nothing by itself: `started` does
        for pragma in (
            f"busy_timeout={busy_ms}", f"cache_size={-CACHE_KB}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"
        ):  # fmt: skip
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def started(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
