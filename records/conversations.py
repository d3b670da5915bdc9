"""Conversations and their messages as their owner sees them. Nobody else's, and nothing deleted, is ever found."""

from sqlalchemy import ColumnElement, Connection, insert, select, tuple_, update

from protocol.model import Usage
from records.schema import conversations, messages
from records.turns import FIRST_SEQUENCE
from records.values import Conversation, Key, Place, Span, StoredMessage

COLUMNS = [conversations.c[name] for name in Conversation.__dataclass_fields__]


def owned(key: Key) -> tuple[ColumnElement[bool], ...]:
    """What finds the conversation for this owner alone, unless it was deleted."""
    return (
        conversations.c.tenant == key.tenant,
        conversations.c.id == key.conversation_id,
        conversations.c.owner == key.owner,
        conversations.c.deleted_ms.is_(None),
    )


def create(connection: Connection, key: Key, title: str, now_ms: int) -> None:
    """Insert the conversation. Raises IntegrityError where the id is taken."""
    row = {"tenant": key.tenant, "id": key.conversation_id, "owner": key.owner, "title": title}
    times = {"created_ms": now_ms, "updated_ms": now_ms}
    connection.execute(insert(conversations).values(**row, **times, next_sequence=FIRST_SEQUENCE))


def find(connection: Connection, key: Key) -> Conversation | None:
    """The conversation, if it is there for this owner."""
    row = connection.execute(select(*COLUMNS).where(*owned(key))).mappings().one_or_none()
    return None if row is None else Conversation(**row)


def rename(connection: Connection, key: Key, title: str) -> bool:
    """Give the conversation a title. False where it is not there for this owner."""
    return connection.execute(update(conversations).where(*owned(key)).values(title=title)).rowcount == 1


def of_owner(
    connection: Connection, tenant: str, owner: str, limit: int, past: tuple[int, str] | None = None
) -> tuple[Conversation, ...]:
    """The owner's conversations, the one changed last first, from the one after `past` (its last change and its id) on."""
    mine = (conversations.c.tenant == tenant, conversations.c.owner == owner, conversations.c.deleted_ms.is_(None))
    query = select(*COLUMNS).where(*mine)
    if past is not None:
        query = query.where(tuple_(conversations.c.updated_ms, conversations.c.id) < past)
    query = query.order_by(conversations.c.updated_ms.desc(), conversations.c.id.desc()).limit(limit)
    return tuple(Conversation(**row) for row in connection.execute(query).mappings())


def messages_of(connection: Connection, key: Key, span: Span) -> tuple[StoredMessage, ...] | None:
    """The conversation's messages, None where it is not there for this owner."""
    if find(connection, key) is None:
        return None
    sequence = messages.c.sequence
    query = select(messages).where(
        messages.c.tenant == key.tenant,
        messages.c.conversation_id == key.conversation_id,
        messages.c.superseded_by.is_(None),
    )
    if span.past is not None:
        query = query.where(sequence > span.past if span.order == "asc" else sequence < span.past)
    query = query.order_by(sequence if span.order == "asc" else sequence.desc()).limit(span.limit)
    return tuple(
        StoredMessage(
            id=row["id"],
            sequence=row["sequence"],
            role=row["role"],
            run_id=row["run_id"],
            parts=tuple(row["parts"]),
            model=row["model"],
            outcome=row["outcome"],
            usage=Usage.model_validate(row["usage"]),
            created_ms=row["created_ms"],
            suggested=tuple(row["suggested"] or ()),
            cost_micro_usd=row["cost_micro_usd"],
        )
        for row in connection.execute(query).mappings()
    )


def entitle(connection: Connection, tenant: str, conversation_id: str, title: str) -> None:
    """Give the conversation a title, unless it has one."""
    place = (conversations.c.tenant == tenant, conversations.c.id == conversation_id)
    untitled = (
        conversations.c.title == "",
        conversations.c.deleted_ms.is_(None),
    )  # what was deleted gets no words (C5)
    connection.execute(update(conversations).where(*place, *untitled).values(title=title))


def suggest(connection: Connection, place: Place, prompts: tuple[str, ...]) -> None:
    """Note what the user may go on with after an answer."""
    answer = (
        messages.c.tenant == place.tenant,
        messages.c.conversation_id == place.conversation_id,
        messages.c.sequence == place.sequence,
        messages.c.role == "assistant",
    )
    connection.execute(update(messages).where(*answer).values(suggested=[*prompts]))
