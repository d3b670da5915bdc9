"""What the next turn is told of those before it."""

from collections.abc import Mapping

from sqlalchemy import Connection, func, select, update

from protocol.json import JsonObject
from records.schema import conversations, messages
from records.values import HistoryMessage


def window(
    connection: Connection, tenant: str, conversation_id: str, before_sequence: int, turns: int | None
) -> tuple[HistoryMessage, ...]:
    """The messages before a sequence, from the last `turns` questions on."""
    earlier = (
        messages.c.tenant == tenant,
        messages.c.conversation_id == conversation_id,
        messages.c.sequence < before_sequence,
        messages.c.superseded_by.is_(None),
    )
    columns = (messages.c.sequence, messages.c.role, messages.c.parts, messages.c.provider)
    query = select(*columns).join(conversations).where(*earlier, conversations.c.deleted_ms.is_(None))
    if turns is not None:
        questions = select(messages.c.sequence).where(*earlier, messages.c.role == "user")
        newest = questions.order_by(messages.c.sequence.desc()).limit(turns).subquery()
        # A window begins with a question, and one that was never answered is a turn like the others. With no question
        # in it (turns = 0) the minimum is NULL and no message is at or past it.
        query = query.where(messages.c.sequence >= select(func.min(newest.c.sequence)).scalar_subquery())
    rows = connection.execute(query.order_by(messages.c.sequence)).mappings()
    return tuple(
        HistoryMessage(
            sequence=row["sequence"],
            role=row["role"],
            parts=tuple(row["parts"]),
            provider=tuple(row["provider"] or ()),
        )
        for row in rows
    )


def repair(
    connection: Connection, tenant: str, conversation_id: str, providers: Mapping[int, tuple[JsonObject, ...]]
) -> None:
    """Store the model's own messages of these answers anew. What readers get of them stays as it is."""
    for sequence, provider in providers.items():
        answer = (
            messages.c.tenant == tenant,
            messages.c.conversation_id == conversation_id,
            messages.c.sequence == sequence,
            messages.c.role == "assistant",
        )
        connection.execute(update(messages).where(*answer).values(provider=provider))
