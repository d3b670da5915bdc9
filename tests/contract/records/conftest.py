"""The records, empty, on every database: `records` to use them, `address` to open them as several processes do."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from sqlalchemy import text

from records import migrate
from records.database import Database
from records.records import Records
from tests.postgresql import postgresql_server

EMPTY = text("DROP TABLE IF EXISTS messages, conversations, runs, alembic_version")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    with postgresql_server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
async def bare_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables."""
    return await _bare(request, tmp_path)


@pytest.fixture
async def address(bare_address: str) -> str:
    await migrate.upgrade(bare_address)
    return bare_address


@pytest.fixture
async def opened(address: str) -> AsyncIterator[Callable[[], Records]]:
    """Opens the same records once more, with connections of their own."""
    async with AsyncExitStack() as stack:

        def open_once_more() -> Records:
            records = Records(address)
            stack.push_async_callback(records.close)
            return records

        yield open_once_more


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def records(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Records]:
    if request.param == "memory":
        async with await Records.in_memory() as empty:
            yield empty
    else:
        address = await _bare(request, tmp_path)
        await migrate.upgrade(address)
        async with Records(address) as empty:
            yield empty


async def _bare(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/records.db"
    address = str(request.getfixturevalue("postgresql"))
    database = Database(address, timeout_ms=5_000)
    await database.write(lambda connection: connection.execute(EMPTY))
    await database.close()
    return address
