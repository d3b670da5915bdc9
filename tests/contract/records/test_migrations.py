"""The tables: made by migrations alone, by whichever process comes first, and as the queries expect them."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from records import migrate
from records.database import Database
from records.records import Records
from records.schema import metadata
from records.values import Begun, Span
from tests.contract.records import processes
from tests.contract.records.values import ANA, completed, said, spending, turn


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


async def test_rows_of_the_first_release_are_kept(bare_address: str) -> None:
    """Its messages cost nothing, as far as is known, and its runs can be charged for what they still ask."""
    database = Database(bare_address, timeout_ms=5_000)
    await database.write(lambda connection: migrate.upgrade_on(connection, "0001"))
    await database.write(_as_the_first_release)
    await database.close()

    await migrate.upgrade(bare_address)

    async with Records(bare_address) as records:
        messages = await records.messages(ANA, Span()) or ()
        assert [(message.id, message.parts, message.cost_micro_usd) for message in messages] == [
            ("ask-r1", said("question of r1"), 0)
        ]
        assert await records.reserve(spending("r1", micro_usd=100), 100) == "reserved"
        assert await records.settle("r1", completed("r1"))


def _as_the_first_release(connection: Connection) -> None:
    """A turn that began, written by the statements of that day."""
    for statement in (
        "INSERT INTO conversations VALUES ('', 'c1', 'ana', '', 'r1', 3, 1000, 1000, NULL)",
        "INSERT INTO messages VALUES ('', 'c1', 1, 'ask-r1', 'user', 'r1', "
        """'[{"type":"text","text":"question of r1"}]', NULL, '', '', '{}', 1000)""",
        "INSERT INTO runs VALUES ('r1', '', 'ana', 'c1', 'demo', 'ask-r1', 'msg-r1', 1, 'accepted', '', '', false, "
        "1000, 1000, NULL)",
    ):
        connection.exec_driver_sql(statement)


async def test_processes_may_start_all_at_once(in_each_process: processes.InEach, bare_address: str) -> None:
    await in_each_process(processes.upgrading, bare_address)

    async with Records(bare_address) as records:
        assert await records.begin(turn("r1")) == Begun(1)
