"""PostgreSQL, through asyncpg: a pool of connections a process, READ COMMITTED, rows locked where order matters."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import URL, Connection
from sqlalchemy.ext.asyncio import create_async_engine

Value = TypeVar("Value")

CONNECTIONS = 10


class PostgreSQL:
    """A `Driver`. Readers and writers are the same to it: the server sorts them out."""

    def __init__(self, address: URL, timeout_ms: int) -> None:
        # A process that is stopped inside a transaction would keep its conversation locked for ever.
        settings = {"idle_in_transaction_session_timeout": str(timeout_ms * 2)}
        self._engine = create_async_engine(
            address.set(drivername="postgresql+asyncpg"),
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=timeout_ms / 1000,
            pool_pre_ping=True,  # after a restart of the server the first call finds out, not the first user
            connect_args={"server_settings": settings},
        )

    async def run(self, work: Callable[[Connection], Value], *, writes: bool) -> Value:
        async with self._engine.begin() as connection:
            return await connection.run_sync(work)

    async def close(self) -> None:
        await self._engine.dispose()
