"""How a turn begins."""

from sqlalchemy import Connection, RowMapping, insert, select, update

from records import files, runs
from records.schema import conversations, messages
from records.schema import runs as run_rows
from records.values import Beginning, Begun, Busy, Known, NotFound, Reused, Run, TurnBegin

FIRST_SEQUENCE = 1


def begin(connection: Connection, turn: TurnBegin) -> Beginning:
    """Take the conversation's active place and write the turn's first rows, or say why not.

    Raises IntegrityError where another transaction created the conversation or used the run id since we looked: the same
    call, made again, then finds what that one wrote.
    """
    key = turn.key
    # Locked, so that no other beginning, end or deletion comes between this look and what follows from it.
    query = select(conversations).where(conversations.c.tenant == key.tenant, conversations.c.id == key.conversation_id)
    place = connection.execute(query.with_for_update()).mappings().one_or_none()
    refusal = _refusal(turn, place, runs.find(connection, turn.run_id))
    if isinstance(refusal, Known) and not _same_message(connection, turn, refusal.run):
        return Reused()
    if refusal is not None:
        return refusal
    if not files.use(connection, key, turn.files):
        return NotFound()
    sequence = FIRST_SEQUENCE if place is None else int(place["next_sequence"])
    _take_place(connection, turn, sequence, create=place is None)
    connection.execute(insert(messages).values(_user_message(turn, sequence)))
    connection.execute(insert(run_rows).values(_run(turn, sequence)))
    return Begun(sequence)


def _refusal(turn: TurnBegin, place: RowMapping | None, run: Run | None) -> Known | Busy | NotFound | None:
    hidden = place is not None and (place["owner"] != turn.key.owner or place["deleted_ms"] is not None)
    foreign = run is not None and (run.tenant, run.owner) != (turn.key.tenant, turn.key.owner)
    if hidden or foreign:
        return NotFound()
    if run is not None:
        return Known(run)
    if place is None:
        return None if turn.create_if_missing else NotFound()
    return None if place["active_run_id"] is None else Busy(place["active_run_id"])


def _same_message(connection: Connection, turn: TurnBegin, run: Run) -> bool:
    """Whether the run was begun with this message, as far as that is still known."""
    query = select(messages.c.parts).where(
        messages.c.tenant == run.tenant,
        messages.c.conversation_id == run.conversation_id,
        messages.c.sequence == run.sequence,
        messages.c.run_id == run.run_id,
    )
    parts = connection.execute(query).scalar_one_or_none()
    return parts is None or tuple(parts) == turn.parts


def _take_place(connection: Connection, turn: TurnBegin, sequence: int, *, create: bool) -> None:
    key = turn.key
    taken = {
        "active_run_id": turn.run_id,
        "next_sequence": sequence + 2,  # the answer's place is reserved with the question's (C18)
        "updated_ms": turn.now_ms,
    }
    if create:
        row = {"tenant": key.tenant, "id": key.conversation_id, "owner": key.owner, "title": ""}
        connection.execute(insert(conversations).values(**row, **taken, created_ms=turn.now_ms))
        return
    row_of = (conversations.c.tenant == key.tenant, conversations.c.id == key.conversation_id)
    connection.execute(update(conversations).where(*row_of).values(**taken))


def _user_message(turn: TurnBegin, sequence: int) -> dict[str, object]:
    return {
        "tenant": turn.key.tenant,
        "conversation_id": turn.key.conversation_id,
        "sequence": sequence,
        "id": turn.user_message_id,
        "role": "user",
        "run_id": turn.run_id,
        "parts": turn.parts,
        "model": "",
        "outcome": "",
        "usage": {},
        "created_ms": turn.now_ms,
    }


def _run(turn: TurnBegin, sequence: int) -> dict[str, object]:
    return {
        "run_id": turn.run_id,
        "tenant": turn.key.tenant,
        "owner": turn.key.owner,
        "conversation_id": turn.key.conversation_id,
        "assistant": turn.assistant,
        "user_message_id": turn.user_message_id,
        "message_id": turn.message_id,
        "sequence": sequence,
        "status": "accepted",
        "kind": "",
        "transport": "",
        "memory": False,
        "created_ms": turn.now_ms,
        "updated_ms": turn.now_ms,
    }
