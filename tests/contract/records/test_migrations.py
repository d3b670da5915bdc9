"""The tables: made by migrations alone, by whichever process comes first, and as the queries expect them."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from records import migrate
from records.database import Database
from records.records import Records
from records.schema import metadata
from records.values import Begun
from tests.contract.records import processes
from tests.contract.records.values import turn


async def test_migrated_tables_are_those_of_the_schema(address: str) -> None:
    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    database = Database(address, timeout_ms=5_000)

    assert await database.read(differences) == []
    await database.close()


async def test_upgrading_again_keeps_what_is_there(address: str) -> None:
    async with Records(address) as records:
        assert await records.begin(turn("r1")) == Begun(1)
        await migrate.upgrade(address)

        assert await records.run("r1") is not None


async def test_processes_may_start_all_at_once(in_each_process: processes.InEach, bare_address: str) -> None:
    await in_each_process(processes.upgrading, bare_address)

    async with Records(bare_address) as records:
        assert await records.begin(turn("r1")) == Begun(1)
