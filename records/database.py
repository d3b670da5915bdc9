"""Where work meets a database: one transaction, one time bound, and errors that say what to do next.

Work is a plain function of a connection. Its transaction is committed when it returns and rolled back when it raises.
Past the bound the caller is told `unavailable`, and nothing is known about the write: every write here may be repeated.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from sqlalchemy import Connection, make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from protocol.errors import TurnkeepError
from records.postgresql import PostgreSQL
from records.sqlite import SQLite

Value = TypeVar("Value")
Work = Callable[[Connection], Value]


class Driver(Protocol):
    """What differs between the databases. Both open connections when they are first needed."""

    async def run(self, work: Work[Value], *, writes: bool) -> Value: ...

    async def close(self) -> None: ...


class Database:
    """The connections of one process to the database at a SQLAlchemy address; any driver it names is replaced by ours."""

    def __init__(self, url: str, timeout_ms: int) -> None:
        address = make_url(url)
        match address.get_backend_name():
            case "sqlite":
                self._driver: Driver = SQLite(address, timeout_ms)
            case "postgresql":
                self._driver = PostgreSQL(address, timeout_ms)
            case _:
                raise TurnkeepError("not_configured", "The records are kept in SQLite or PostgreSQL.")
        self._seconds = timeout_ms / 1000
        self._calls = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def read(self, work: Work[Value]) -> Value:
        """Run work that writes nothing."""
        return await self._run(work, writes=False)

    async def write(self, work: Work[Value]) -> Value:
        """Run work that may write. Raises IntegrityError where another transaction was first."""
        return await self._run(work, writes=True)

    async def close(self) -> None:
        """Wait for what is under way, which is bounded, and close the connections."""
        await self._idle.wait()  # a connection in use is none the driver's pool could close
        await self._driver.close()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._calls += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._calls -= 1
            if self._calls == 0:
                self._idle.set()

    async def _run(self, work: Work[Value], *, writes: bool) -> Value:
        try:
            with self._counted():
                async with asyncio.timeout(self._seconds):
                    return await self._driver.run(work, writes=writes)
        except (IntegrityError, DataError, ProgrammingError):
            raise  # the database is there, and it is we who are wrong
        except (DBAPIError, PoolTimeoutError, OSError) as error:
            raise TurnkeepError("unavailable", "The records do not answer.") from error
        except StatementError as error:
            if isinstance(error.orig, TurnkeepError):  # a column's type refused a value
                raise error.orig from None
            raise
