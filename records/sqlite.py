"""SQLite: one file, shared by the processes of one machine.

- Threads of our own and the plain driver, a whole transaction at a time. An asynchronous driver changes threads at every
  statement, which takes a short transaction from 1.6 to 2.7 ms, and a cancelled caller breaks it off in the middle.
- One writer a process. Writers of a process queue for it, first come first served, instead of polling for the file's lock
  against each other.
- WAL, so that readers never wait for a writer.
- Writers of several processes all ask again after the same short while. SQLite's own waiting asks the less often the longer it
  has waited, so whoever came last is first: with six processes that write, the longest of 2,600 waits was 655 ms, and so 156.
- Writers BEGIN IMMEDIATE: a transaction that reads first and takes the lock later fails at once where another process
  wrote in between, whatever the busy timeout.
- synchronous=FULL, 0.3 ms a commit here: a run row is the proof that a run id was used. With NORMAL a power cut takes back
  the newest rows, and a client that repeats its request has the turn's tools called a second time.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, Pool, QueuePool, StaticPool, create_engine, event
from sqlalchemy.exc import OperationalError

Value = TypeVar("Value")

READERS = 4
AGAIN_MS = 2  # until the next try for the lock: about as long as others hold it
CACHE_KB = 256  # of a connection. By itself it takes 2 MB, ten in a process; what is not in it is in the system's cache


class SQLite:
    """A `Driver`."""

    def __init__(self, address: URL, timeout_ms: int) -> None:
        address = address.set(drivername="sqlite")
        # Shorter than the caller's bound: a lock held elsewhere is then the database's answer.
        busy_ms = timeout_ms * 9 // 10
        if address.database in {None, "", ":memory:"}:  # such a database is its connection: there can be only one
            self._writer = self._reader = _Threads(_engine(address, busy_ms, StaticPool, writes=True), 1)
        else:
            self._writer = _Threads(_engine(address, busy_ms, QueuePool, writes=True), 1)
            self._reader = _Threads(_engine(address, busy_ms, QueuePool, writes=False), READERS)

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


def _engine(address: URL, busy_ms: int, pool: type[Pool], *, writes: bool) -> Engine:
    engine = create_engine(address, poolclass=pool, connect_args={"check_same_thread": False})

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: object) -> None:
        connection.isolation_level = None  # the driver begins nothing by itself: `started` does
        for pragma in (
            f"busy_timeout={busy_ms}", f"cache_size={-CACHE_KB}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"
        ):  # fmt: skip
            connection.execute(f"PRAGMA {pragma}")
        if writes:
            connection.execute("PRAGMA busy_timeout=0")  # `_begin` waits instead

    @event.listens_for(engine, "begin")
    def started(connection: Connection) -> None:
        if writes:
            _begin(connection, busy_ms // AGAIN_MS)
        else:
            connection.exec_driver_sql("BEGIN")

    return engine


def _begin(connection: Connection, tries: int) -> None:
    """Take the file's lock, which other processes take as well. Raises OperationalError where it is never free."""
    for last in (*[False] * tries, True):
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        except OperationalError as error:
            if last or not _busy(error):
                raise
            time.sleep(AGAIN_MS / 1_000)  # noqa: TID251 - the file tells nobody that it is free
        else:
            return


def _busy(error: OperationalError) -> bool:
    return isinstance(error.orig, sqlite3.Error) and error.orig.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
