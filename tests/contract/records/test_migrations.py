"""The tables: made by migrations alone, by whichever process comes first, and as the queries expect them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, insert, select

from records import migrate
from records.database import Database
from records.files import Upload
from records.records import Records
from records.schema import metadata
from records.values import Begun, Span
from tests.contract.records import processes
from tests.contract.records.values import ANA, completed, said, spending, turn

REVISIONS = sorted(script.revision for script in ScriptDirectory(str(migrate.MIGRATIONS)).walk_revisions())
MESSAGE = {"tenant": "acme", "conversation_id": "c1"}
CALLED = {"tenant": "acme", "owner": "ana", "conversation_id": "c1", "created_ms": 1_000}

# A row of each table with a value in every column, as it lies there.
ROWS: Mapping[str, Mapping[str, Any]] = {
    "conversations": {
        "tenant": "acme", "id": "c1", "owner": "ana", "title": "Rivers", "active_run_id": "r1", "next_sequence": 3,
        "created_ms": 1_000, "updated_ms": 2_000, "deleted_ms": 3_000, "forgotten_ms": 4_000, "erased_ms": 5_000,
    },
    "messages": {
        **MESSAGE, "sequence": 2, "id": "msg_r1", "role": "assistant", "run_id": "r1", "parts": '[{"type":"step-start"}]',
        "provider": "[]", "model": "claude-opus-4-6", "outcome": "completed", "usage": '{"steps":1}', "suggested": '["Why?"]',
        "created_ms": 2_000, "cost_micro_usd": 70, "superseded_by": "r2",
    },
    "runs": {
        **CALLED, "run_id": "r1", "assistant": "demo", "user_message_id": "ask-r1", "message_id": "msg_r1", "sequence": 1,
        "status": "completed", "kind": "-", "transport": "inline", "memory": True, "replaces": "r0", "updated_ms": 2_000,
        "ended_ms": 2_000, "finished_ms": 2_500,
    },
    "spend": {
        **CALLED, "run_id": "r1", "step": 1, "attempt": 2, "number": 3, "pipeline": "chat", "day": 20_000,
        "model": "claude-opus-4-6", "state": "settled", "estimated": True, "micro_usd": 70, "input_tokens": 4,
        "output_tokens": 5, "cache_read_tokens": 6, "cache_write_tokens": 7, "settled_ms": 2_000,
    },
    "spend_days": {"pipeline": "chat", "day": 20_000, "micro_usd": 70},
    "api_keys": {
        "prefix": "tk_1", "digest": "d1", "name": "laptop", "tenant": "acme", "owner": "ana", "rights": '["act_for"]',
        "tier": "plus", "created_ms": 1_000, "expires_ms": 2_000, "revoked_ms": 3_000,
    },
    "outputs": {
        **MESSAGE, "run_id": "r1", "call_id": "c1.1", "attempt": 2, "bytes": 70_000, "content": '{"rows":[]}', "created_ms": 2_000
    },
    "files": {
        "id": "file_1", "tenant": "acme", "owner": "ana", "media_type": "text/plain", "name": "a", "size": 1, "touched_ms": 1_000
    },
    "file_content": {"file_id": "file_1", "content": b"a"},
    "file_uses": {**MESSAGE, "file_id": "file_1"},
}  # fmt: skip

# What the columns hold where a row is older than they are, and that is something.
SINCE: Mapping[str, Mapping[str, Any]] = {"messages": {"cost_micro_usd": 0}, "runs": {"finished_ms": 2_000}}


async def test_migrated_tables_are_those_of_the_schema(address: str) -> None:
    def differences(connection: Connection) -> list[object]:
        options = {"compare_server_default": True}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))

    database = Database(address, timeout_ms=5_000)

    assert await database.read(differences) == []
    await database.close()


async def test_upgrading_again_keeps_what_is_there(address: str) -> None:
    async with Records(address) as records:
        assert await records.begin(turn("r1")) == Begun(1)
        await migrate.upgrade(address)

        assert await records.run("r1") is not None


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_row_written_at_any_revision_is_the_same_today(bare_address: str, revision: str) -> None:
    """Written at the newest one it has every column, so whoever adds one has to say what older rows have in it."""

    def written_then_upgraded(connection: Connection) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
        migrate.upgrade_on(connection, revision)
        written = _write(connection)
        migrate.upgrade_on(connection)
        return written, _read(connection)

    database = Database(bare_address, timeout_ms=5_000)
    written, read = await database.write(written_then_upgraded)
    await database.close()

    assert read == {
        table: {**dict.fromkeys(row), **SINCE.get(table, {}), **written[table]}
        for table, row in ROWS.items()
        if table in written
    }


def _write(connection: Connection) -> dict[str, dict[str, Any]]:
    """Fill what tables and columns there are; what was written."""
    then = MetaData()
    then.reflect(connection)
    tables = [table for table in then.sorted_tables if table.name != "alembic_version"]
    rows = {table.name: {column.name: ROWS[table.name][column.name] for column in table.columns} for table in tables}
    for table in tables:
        connection.execute(insert(table).values(rows[table.name]))
    return rows


def _read(connection: Connection) -> dict[str, dict[str, Any]]:
    """The rows, as they lie there."""
    now = MetaData()
    now.reflect(connection)
    found = {name: connection.execute(select(now.tables[name])).mappings().one_or_none() for name in metadata.tables}
    return {name: dict(row) for name, row in found.items() if row is not None}


@pytest.mark.parametrize("revision", REVISIONS)
async def test_what_earlier_releases_began_goes_on(bare_address: str, revision: str) -> None:
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
