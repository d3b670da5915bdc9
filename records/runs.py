"""Run rows: one per turn, without content; who may go on is decided by whether `ended_ms` is set."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, and_, select, tuple_, update

from protocol.turn import Transport
from records.schema import conversations, runs
from records.values import Key, Run, RunFilter


def find(connection: Connection, run_id: str) -> Run | None:
    """The run of this id, whoever owns it."""
    row = connection.execute(select(runs).where(runs.c.run_id == run_id)).mappings().one_or_none()
    return None if row is None else Run(**row)


def shown(connection: Connection, run_id: str) -> Run | None:
    """The run of this id, whoever owns it, unless its conversation was deleted."""
    of_conversation = (conversations.c.tenant == runs.c.tenant, conversations.c.id == runs.c.conversation_id)
    query = select(runs).join(conversations, and_(*of_conversation))
    query = query.where(runs.c.run_id == run_id, conversations.c.deleted_ms.is_(None))
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else Run(**row)


def active(connection: Connection, key: Key) -> Run | None:
    """The run that has the active place of the caller's conversation."""
    query = (
        select(runs)
        .join(conversations, conversations.c.active_run_id == runs.c.run_id)
        .where(
            conversations.c.tenant == key.tenant,
            conversations.c.id == key.conversation_id,
            conversations.c.owner == key.owner,
            conversations.c.deleted_ms.is_(None),
        )
    )
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else Run(**row)


def unfinished(connection: Connection, older_than_ms: int, limit: int, past: Run | None) -> tuple[Run, ...]:
    """Runs that are not known to be finished and whose row is older, oldest first, from the one after `past` on."""
    place = (runs.c.updated_ms, runs.c.run_id)
    query = select(runs).where(runs.c.finished_ms.is_(None), runs.c.updated_ms < older_than_ms)
    if past is not None:
        query = query.where(tuple_(*place) > (past.updated_ms, past.run_id))
    return tuple(Run(**row) for row in connection.execute(query.order_by(*place).limit(limit)).mappings())


def listed(connection: Connection, wanted: RunFilter, past: tuple[int, str] | None, limit: int) -> tuple[Run, ...]:
    """Runs, the newest first, from the one after `past` (its beginning and its id) on."""
    query = select(runs).where(runs.c.tenant == wanted.tenant, *_conditions(wanted))
    if past is not None:
        query = query.where(tuple_(runs.c.created_ms, runs.c.run_id) < past)
    query = query.order_by(runs.c.created_ms.desc(), runs.c.run_id.desc()).limit(limit)
    return tuple(Run(**row) for row in connection.execute(query).mappings())


def _conditions(wanted: RunFilter) -> list[ColumnElement[bool]]:
    owner = [runs.c.owner == wanted.owner] if wanted.owner else []
    if wanted.state == "unfinished":
        # The second follows from the first, and is what the index is made of.
        return [*owner, runs.c.ended_ms.is_(None), runs.c.finished_ms.is_(None)]
    return [*owner, runs.c.status == wanted.state] if wanted.state else owner


def running(connection: Connection, run_id: str, transport: Transport, now_ms: int) -> bool:
    """Note who executes a run that has not ended."""
    change = (
        update(runs)
        .where(runs.c.run_id == run_id, runs.c.ended_ms.is_(None))
        .values(status="running", transport=transport, updated_ms=now_ms)
    )
    return connection.execute(change).rowcount == 1


def mark_memory(connection: Connection, run_id: str) -> bool:
    """Note that a run that has not ended lives on one process's memory log."""
    change = update(runs).where(runs.c.run_id == run_id, runs.c.ended_ms.is_(None)).values(memory=True)
    return connection.execute(change).rowcount == 1


def finished(connection: Connection, run_ids: Collection[str], now_ms: int) -> None:
    """Note that nothing more is to come of these runs, which have ended."""
    change = update(runs).where(runs.c.run_id.in_(run_ids), runs.c.ended_ms.is_not(None), runs.c.finished_ms.is_(None))
    connection.execute(change.values(finished_ms=now_ms))
