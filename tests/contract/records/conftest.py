"""The records, empty, on every database: `records` to use them, `address` to open them as several processes do."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from sqlalchemy import Connection, delete, text

from records import migrate
from records.database import Database
from records.records import Records
from records.schema import (
    api_keys,
    conversations,
    file_uses,
    files,
    messages,
    metadata,
    runs,
    spend,
    spend_days,
)
from tests.contract.records import processes
from tests.postgresql import postgresql_server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    with postgresql_server() as address:
        yield address


@pytest.fixture(scope="session")
def in_each_process() -> Iterator[processes.InEach]:
    with processes.pool() as in_each:
        yield in_each


@pytest.fixture(params=["sqlite", "postgresql"])
async def bare_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables."""
    return await _prepared(_address(request, tmp_path), _unmake)


@pytest.fixture(params=["sqlite", "postgresql"])
async def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with empty tables."""
    return await _empty(request, tmp_path)


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
        async with Records(await _empty(request, tmp_path)) as empty:
            yield empty


def _unmake(connection: Connection) -> None:
    metadata.drop_all(connection)
    connection.execute(text("DROP TABLE IF EXISTS alembic_version"))


def _address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/records.db"
    return str(request.getfixturevalue("postgresql"))


async def _empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    def make_and_empty(connection: Connection) -> None:
        migrate.upgrade_on(connection)
        for table in (file_uses, files, messages, conversations, runs, spend, spend_days, api_keys):
            connection.execute(delete(table))

    return await _prepared(_address(request, tmp_path), make_and_empty)


async def _prepared(address: str, work: Callable[[Connection], object]) -> str:
    database = Database(address, timeout_ms=5_000)
    await database.write(work)
    await database.close()
    return address
