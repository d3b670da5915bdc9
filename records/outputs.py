"""Outputs of tools that are too large for a frame: kept whole beside the conversation, and gone with it."""

from typing import Any, cast

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects import postgresql, sqlite

from protocol.json import Json
from records.schema import conversations, outputs, runs
from records.values import KeptOutput

RUN_BYTES = 32 * 1024 * 1024  # of all outputs of a run: as much as its log may have

_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}  # alike, and without a common type


def keep(connection: Connection, output: KeptOutput) -> bool:
    """Store it, in place of what an older attempt at the same call gave. False where it is not kept.

    Tools that end at the same time may together take a little more than `RUN_BYTES`.
    """
    run = connection.execute(
        select(runs.c.tenant, runs.c.conversation_id).where(runs.c.run_id == output.run_id)
    ).first()
    others = (outputs.c.run_id == output.run_id, outputs.c.call_id != output.call_id)
    used = connection.execute(select(func.coalesce(func.sum(outputs.c.bytes), 0)).where(*others)).scalar_one()
    if run is None or used + output.bytes > RUN_BYTES:
        return False
    insert = _INSERT[connection.dialect.name](outputs).values(
        run_id=output.run_id,
        call_id=output.call_id,
        tenant=run.tenant,
        conversation_id=run.conversation_id,
        attempt=output.attempt,
        bytes=output.bytes,
        content=output.content,
        created_ms=output.now_ms,
    )
    newest = {name: insert.excluded[name] for name in ("attempt", "bytes", "content", "created_ms")}
    upsert = insert.on_conflict_do_update(
        index_elements=["run_id", "call_id"], set_=newest, where=outputs.c.attempt <= insert.excluded.attempt
    )
    return bool(connection.execute(upsert).rowcount == 1)  # a zombie's comes too late, and its frame is refused as well


def find(connection: Connection, run_id: str, call_id: str) -> Json | None:
    """The output, None where nothing is kept, or its conversation was deleted."""
    query = (
        select(outputs.c.content)
        .join(conversations)
        .where(outputs.c.run_id == run_id, outputs.c.call_id == call_id, conversations.c.deleted_ms.is_(None))
    )
    found = connection.execute(query).first()
    return None if found is None else cast("Json", found.content)
