"""The tables: made by migrations alone, by whichever process comes first, and as the queries expect them."""

from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from records import migrate
from records.database import Database
from records.files import Upload
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


@pytest.mark.parametrize("revision", ["0001", "0002", "0003"])
async def test_rows_of_earlier_releases_are_kept(bare_address: str, revision: str) -> None:
    """Their messages cost nothing, as far as is known; their runs can be charged, settled and deleted like any other."""
    database = Database(bare_address, timeout_ms=5_000)
    await database.write(lambda connection: migrate.upgrade_on(connection, revision))
    await database.write(_as_the_first_release)
    await database.close()

    await migrate.upgrade(bare_address)

    async with Records(bare_address) as records:
        messages = await records.messages(ANA, Span()) or ()
        assert [(message.id, message.parts, message.cost_micro_usd) for message in messages] == [
            ("ask-r1", said("question of r1"), 0)
        ]
        assert await records.conversations("", "ana") == (await records.conversation(ANA),)
        assert [run.run_id for run in await records.unfinished(9_000, 9)] == ["r1"]
        assert await records.reserve(spending("r1", micro_usd=100), 100) == "reserved"
        assert await records.settle("r1", completed("r1"))
        file, _ = await records.files.keep(
            Upload(tenant="", owner="ana", media_type="text/plain", name="a", content=b"a", now_ms=0), 9
        )
        assert await records.begin(replace(turn("r2"), files=(file.id,))) == Begun(3)
        # What that release had deleted is erased like what is deleted today.
        await records.delete(ANA, 2_000)
        assert [deleted.key.conversation_id for deleted in await records.deleted(9_000, 9)] == ["gone", "c1"]
        for deleted in await records.deleted(9_000, 9):
            await records.erase(deleted.key, 9_000)
        assert not await records.create(replace(ANA, conversation_id="gone"), "", 9_000)


def _as_the_first_release(connection: Connection) -> None:
    """A turn that began, and a conversation that was deleted: what every release since the first could write."""
    conversation = "INSERT INTO conversations (tenant, id, owner, title, active_run_id, next_sequence, created_ms, updated_ms, deleted_ms)"
    for statement in (
        f"{conversation} VALUES ('', 'c1', 'ana', '', 'r1', 3, 1000, 1000, NULL)",
        f"{conversation} VALUES ('', 'gone', 'ana', 'Gone', NULL, 3, 1000, 1000, 1500)",
        "INSERT INTO messages (tenant, conversation_id, sequence, id, role, run_id, parts, model, outcome, usage, created_ms) VALUES "
        """('', 'c1', 1, 'ask-r1', 'user', 'r1', '[{"type":"text","text":"question of r1"}]', '', '', '{}', 1000)""",
        "INSERT INTO runs (run_id, tenant, owner, conversation_id, assistant, user_message_id, message_id, sequence, status, kind, "
        "transport, memory, created_ms, updated_ms) VALUES "
        "('r1', '', 'ana', 'c1', 'demo', 'ask-r1', 'msg-r1', 1, 'accepted', '', '', false, 1000, 1000)",
    ):
        connection.exec_driver_sql(statement)


async def test_processes_may_start_all_at_once(in_each_process: processes.InEach, bare_address: str) -> None:
    await in_each_process(processes.upgrading, bare_address)

    async with Records(bare_address) as records:
        assert await records.begin(turn("r1")) == Begun(1)
