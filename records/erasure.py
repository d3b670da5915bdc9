"""How a conversation goes, in three steps.

Deleted, it is there for nobody; forgotten, no store has anything of its runs; erased, nothing is left of it but its row.
Deleting is one transaction. The rest is done by whoever comes to it, in bounded steps that may end anywhere and be taken again;
the row is marked with the last of each.
"""

from typing import Final

from sqlalchemy import Connection, delete, func, or_, select, update

from records import files
from records.conversations import owned
from records.schema import conversations, messages
from records.schema import runs as run_rows
from records.values import Deleted, Key

ERASED_AT_ONCE: Final = 500  # messages of a transaction


def remove(connection: Connection, key: Key, now_ms: int) -> Deleted | None:
    """Delete the owner's conversation, and its files with it. None where there is none of his."""
    place = connection.execute(select(conversations).where(*owned(key)).with_for_update()).mappings().one_or_none()
    if place is None:
        return None
    connection.execute(update(conversations).where(*owned(key)).values(deleted_ms=now_ms, title=""))
    files.leave(connection, key)
    return Deleted(key=key, active_run_id=place["active_run_id"], deleted_ms=now_ms)


def remove_all(connection: Connection, tenant: str, owner: str, now_ms: int, limit: int) -> tuple[Deleted, ...]:
    """Delete some of an owner's conversations."""
    of_owner = (conversations.c.tenant == tenant, conversations.c.owner == owner, conversations.c.deleted_ms.is_(None))
    ids = connection.execute(select(conversations.c.id).where(*of_owner).limit(limit)).scalars().all()
    gone = (remove(connection, Key(tenant=tenant, owner=owner, conversation_id=one), now_ms) for one in ids)
    return tuple(one for one in gone if one is not None)


def due(connection: Connection, until_ms: int, limit: int) -> tuple[Deleted, ...]:
    """Deleted conversations with something left to do: erase those deleted until then, forget all of them."""
    query = (
        select(conversations)
        .where(
            conversations.c.deleted_ms.is_not(None),
            conversations.c.erased_ms.is_(None),
            or_(conversations.c.deleted_ms <= until_ms, conversations.c.forgotten_ms.is_(None)),
        )
        .order_by(conversations.c.deleted_ms)
        .limit(limit)
    )
    return tuple(
        Deleted(
            key=Key(tenant=row["tenant"], owner=row["owner"], conversation_id=row["id"]),
            active_run_id=row["active_run_id"],
            deleted_ms=row["deleted_ms"],
            forgotten=row["forgotten_ms"] is not None,
        )
        for row in connection.execute(query).mappings()
    )


def threads(connection: Connection, tenant: str, owner: str, stem: str) -> int:
    """How many of an owner's conversations with this name, or this name and a number, were deleted."""
    mine = (conversations.c.tenant == tenant, conversations.c.owner == owner, conversations.c.deleted_ms.is_not(None))
    named = or_(conversations.c.id == stem, conversations.c.id.startswith(f"{stem}-", autoescape=True))
    return connection.execute(select(func.count()).select_from(conversations).where(*mine, named)).scalar_one()


def with_logs(connection: Connection, key: Key, ended_since_ms: int) -> tuple[str, ...]:
    """The conversation's runs of which the store may still hold something."""
    query = select(run_rows.c.run_id).where(
        run_rows.c.tenant == key.tenant,
        run_rows.c.owner == key.owner,
        run_rows.c.conversation_id == key.conversation_id,
        or_(run_rows.c.ended_ms.is_(None), run_rows.c.ended_ms >= ended_since_ms),
    )
    return tuple(connection.execute(query).scalars())


def forgotten(connection: Connection, key: Key, now_ms: int) -> None:
    """Note that nothing of a deleted conversation is left in any store."""
    row = (conversations.c.tenant == key.tenant, conversations.c.id == key.conversation_id)
    deleted = (conversations.c.deleted_ms.is_not(None), conversations.c.forgotten_ms.is_(None))
    connection.execute(update(conversations).where(*row, *deleted).values(forgotten_ms=now_ms))


def erase_some(connection: Connection, key: Key, now_ms: int) -> bool:
    """Erase some of a deleted conversation's messages. True where none is left, and the row says so."""
    row = (conversations.c.tenant == key.tenant, conversations.c.id == key.conversation_id)
    deleted = select(conversations.c.deleted_ms).where(*row, conversations.c.deleted_ms.is_not(None))
    if connection.execute(deleted.with_for_update()).one_or_none() is None:
        return True
    said = (messages.c.tenant == key.tenant, messages.c.conversation_id == key.conversation_id)
    some = select(messages.c.sequence).where(*said).order_by(messages.c.sequence).limit(ERASED_AT_ONCE).subquery()
    last = connection.execute(select(func.max(some.c.sequence))).scalar_one()
    if last is not None:
        connection.execute(delete(messages).where(*said, messages.c.sequence <= last))
        return False
    connection.execute(update(conversations).where(*row).values(title="", erased_ms=now_ms))
    return True
