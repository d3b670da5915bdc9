"""How a turn begins."""

from dataclasses import replace

from sqlalchemy import Connection, RowMapping, func, insert, select, text, update

from records import files, repeats, runs
from records.repeats import Asked
from records.schema import conversations, messages
from records.schema import runs as run_rows
from records.values import Beginning, Begun, Busy, Known, NotFound, Reused, Stale, TooMany, TurnBegin

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
    refusal = _refusal(connection, turn, place)
    if refusal is not None:
        return refusal
    if turn.most_active and _active(connection, turn) >= turn.most_active:
        return TooMany()
    if not files.use(connection, key, turn.files):
        return NotFound()
    earlier = repeats.replaced(connection, turn)
    if isinstance(earlier, Stale):
        return earlier
    again = earlier is not None and turn.revision is not None and turn.revision.kind == "regenerate"
    if earlier is not None and again:
        turn = replace(turn, user_message_id=earlier.question.id, parts=earlier.question.parts)
    sequence = FIRST_SEQUENCE if place is None else int(place["next_sequence"])
    _take_place(connection, turn, sequence, create=place is None)
    if earlier is not None:
        _supersede(connection, turn, earlier)
    connection.execute(insert(messages).values(_user_message(turn, sequence)))
    replaces = None if earlier is None else earlier.run.run_id
    connection.execute(insert(run_rows).values(_run(turn, sequence) | {"replaces": replaces}))
    return Begun(sequence, earlier.question if earlier is not None and again else None)


def _refusal(
    connection: Connection, turn: TurnBegin, place: RowMapping | None
) -> Known | Busy | NotFound | Stale | Reused | None:
    run = runs.find(connection, turn.run_id)
    hidden = place is not None and (place["owner"] != turn.key.owner or place["deleted_ms"] is not None)
    foreign = run is not None and (run.tenant, run.owner) != (turn.key.tenant, turn.key.owner)
    if hidden or foreign:
        return NotFound()
    if run is not None:
        return Known(run) if repeats.same(connection, run, turn) else Reused()
    run = repeats.known(connection, turn)
    if run is not None:
        return Known(run)
    if place is None:
        return None if turn.create_if_missing else NotFound()
    if place["active_run_id"] is not None:
        return Busy(place["active_run_id"])
    return _behind(connection, turn)


def _behind(connection: Connection, turn: TurnBegin) -> Stale | None:
    """Where others spoke since the client looked (FR35)."""
    if turn.expected_head is None:
        return None
    last = repeats.newest(connection, turn)
    head = last.run.message_id if last else ""
    return None if head == turn.expected_head else Stale(head)


def _supersede(connection: Connection, turn: TurnBegin, earlier: Asked) -> None:
    after = (
        messages.c.tenant == turn.key.tenant,
        messages.c.conversation_id == turn.key.conversation_id,
        messages.c.sequence >= earlier.run.sequence,
        messages.c.superseded_by.is_(None),
    )
    connection.execute(update(messages).where(*after).values(superseded_by=turn.run_id))


def _active(connection: Connection, turn: TurnBegin) -> int:
    """How many runs of the owner are under way; nobody else begins one of theirs before this transaction ends."""
    tenant, owner = turn.key.tenant, turn.key.owner
    if connection.dialect.name == "postgresql":
        # Two beginnings in different conversations would each count without the other. SQLite has one writer anyway.
        lock = text("SELECT pg_advisory_xact_lock(hashtextextended(:owner, 0))")
        connection.execute(lock, {"owner": f"{tenant}\n{owner}"})
    of_owner = (run_rows.c.tenant == tenant, run_rows.c.owner == owner, run_rows.c.ended_ms.is_(None))
    small = run_rows.c.finished_ms.is_(
        None
    )  # so of each that has not ended: the index of those is enough to look through
    return connection.execute(select(func.count()).select_from(run_rows).where(*of_owner, small)).scalar_one()


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
