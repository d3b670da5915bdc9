"""Connections, transactions, bounds: all that is different between SQLite and PostgreSQL.

Work is a function of a connection. It runs in one transaction, inside one time bound, and ends in its value, in an error
of ours, or in `unavailable`; after that it is not known whether a write happened, and every write here may be repeated.

SQLite (one file, several processes):
- WAL, so that readers never wait for a writer.
- Writers BEGIN IMMEDIATE: a transaction that reads first and upgrades later fails at once when another wrote in between.
- One writer connection a process. Writers of a process queue in the pool, first come first served, instead of polling the
  file's lock against each other.
- synchronous=FULL: the run row is the proof that a run id was used. With NORMAL a power cut takes the newest rows back,
  and a client that repeats its request would have the turn's tools called twice.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from sqlalchemy import Connection, event, make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from protocol.errors import TurnkeepError

Value = TypeVar("Value")
Work = Callable[[AsyncConnection], Awaitable[Value]]

READERS = 4
CONNECTIONS = 10  # to PostgreSQL, of one process


class Database:
    """The records' connections of one process. Opening is lazy; `close` before the event loop ends."""

    def __init__(self, url: str, timeout_ms: int) -> None:
        self._seconds = timeout_ms / 1000
        parsed = make_url(url)
        if parsed.get_backend_name() != "sqlite":
            self._writer = self._reader = create_async_engine(
                parsed, pool_size=CONNECTIONS, max_overflow=0, pool_timeout=self._seconds, pool_pre_ping=True
            )
            return
        self._writer = self._sqlite(url, size=1, begin="BEGIN IMMEDIATE")
        in_memory = parsed.database in {None, "", ":memory:"}  # the database is the connection: there can be only one
        self._reader = self._writer if in_memory else self._sqlite(url, size=READERS, begin="BEGIN")

    def _sqlite(self, url: str, *, size: int, begin: str) -> AsyncEngine:
        engine = create_async_engine(
            url, poolclass=AsyncAdaptedQueuePool, pool_size=size, max_overflow=0, pool_timeout=self._seconds
        )

        @event.listens_for(engine.sync_engine, "connect")
        def configure(connection: Any, _: object) -> None:
            connection.isolation_level = None  # the driver begins nothing by itself: `started` does
            cursor = connection.cursor()
            # Shorter than our bound, so that a lock held elsewhere is the database's answer and not a broken-off call.
            cursor.execute(f"PRAGMA busy_timeout={int(self._seconds * 900)}")
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")
            cursor.execute("PRAGMA foreign_keys=ON")
            cursor.close()

        @event.listens_for(engine.sync_engine, "begin")
        def started(connection: Connection) -> None:
            connection.exec_driver_sql(begin)

        return engine

    async def read(self, work: Work[Value]) -> Value:
        """Run work that writes nothing."""
        return await self._bounded(self._reader, work)

    async def write(self, work: Work[Value]) -> Value:
        """Run work in a transaction that is committed when it returns."""
        return await self._bounded(self._writer, work)

    async def close(self) -> None:
        await self._writer.dispose()
        await self._reader.dispose()

    async def _bounded(self, engine: AsyncEngine, work: Work[Value]) -> Value:
        try:
            async with asyncio.timeout(self._seconds), engine.begin() as connection:
                return await work(connection)
        except (IntegrityError, DataError, ProgrammingError):
            raise  # the database is there and says that we are wrong
        except (DBAPIError, PoolTimeoutError, OSError) as error:
            raise TurnkeepError("unavailable", "The records do not answer.") from error
        except StatementError as error:
            if isinstance(error.orig, TurnkeepError):  # a column's type refused a value
                raise error.orig from None
            raise
