"""Which run a request began before, and which turn it means to stand in the place of.

Questions are looked up among the conversation's messages, not among the runs: those of a conversation that was erased are
still there, and its id may be in use again.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, or_, select

from records.schema import messages, runs
from records.values import Question, Run, Stale, TurnBegin


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question of the conversation and the run that answers it."""

    run: Run
    question: Question
    superseded_by: str | None


def known(connection: Connection, turn: TurnBegin) -> Run | None:
    """The run that the same request began before, under an id of its own."""
    if turn.revision is None:
        return _asked_before(connection, turn) if turn.by_client else None
    last = newest(connection, turn)
    if last is None or last.run.replaces is None:
        return None
    again = _edits_alike(last, turn) if turn.revision.kind == "edit" else _regenerates_alike(connection, last, turn)
    return last.run if again else None


def replaced(connection: Connection, turn: TurnBegin) -> Asked | Stale | None:
    """The turn that this one stands in the place of; None where it follows the others."""
    if turn.revision is None:
        return None
    found = _named(connection, turn)
    if found is not None and found.superseded_by is None:
        return found
    if turn.revision.kind == "edit" and found is None:
        return None  # the message never arrived here: for us it is new
    last = newest(connection, turn)
    return Stale(last.run.message_id if last else "")


def newest(connection: Connection, turn: TurnBegin) -> Asked | None:
    """The conversation's last question that counts."""
    return _last(connection, turn, messages.c.superseded_by.is_(None))


def same(connection: Connection, first: Run, turn: TurnBegin) -> bool:
    """Whether this run was begun by the same request, as far as that is still known."""
    if turn.by_key and first.conversation_id != turn.key.conversation_id:
        return False
    if turn.revision is not None and turn.revision.kind == "regenerate":
        return first.replaces is not None
    query = select(messages.c.parts).where(
        messages.c.tenant == first.tenant,
        messages.c.conversation_id == first.conversation_id,
        messages.c.sequence == first.sequence,
        messages.c.run_id == first.run_id,
    )
    parts = connection.execute(query).scalar_one_or_none()
    return parts is None or tuple(parts) == turn.parts


def _asked_before(connection: Connection, turn: TurnBegin) -> Run | None:
    found = _last(connection, turn, messages.c.id == turn.user_message_id)
    # Another text under the same id is another message: some clients count theirs from 1 in every page.
    return found.run if found is not None and found.question.parts == turn.parts else None


def _edits_alike(last: Asked, turn: TurnBegin) -> bool:
    return last.question == Question(id=turn.user_message_id, parts=turn.parts)


def _regenerates_alike(connection: Connection, last: Asked, turn: TurnBegin) -> bool:
    found = _named(connection, turn)
    if found is None or found.superseded_by == last.run.run_id:
        return found is not None
    # Where the answer is not named, only time tells a repeat from the wish for yet another answer.
    named = turn.revision.message_id if turn.revision else None
    return named in (None, last.question.id) and last.run.ended_ms is None


def _named(connection: Connection, turn: TurnBegin) -> Asked | None:
    wanted = turn.revision.message_id if turn.revision else None
    if wanted is None:
        return newest(connection, turn)
    return _last(connection, turn, or_(runs.c.message_id == wanted, messages.c.id == wanted))


def _last(connection: Connection, turn: TurnBegin, condition: ColumnElement[bool]) -> Asked | None:
    of_conversation = (
        messages.c.tenant == turn.key.tenant,
        messages.c.conversation_id == turn.key.conversation_id,
        condition,
    )
    query = _questions().where(*of_conversation).order_by(messages.c.sequence.desc()).limit(1)
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        return None
    return Asked(
        run=Run(**{column.name: row[column.name] for column in runs.c}),
        question=Question(id=row["question_id"], parts=tuple(row["parts"])),
        superseded_by=row["superseded_by"],
    )


def _questions() -> Select[Any]:
    of_run = and_(messages.c.tenant == runs.c.tenant, messages.c.run_id == runs.c.run_id, messages.c.role == "user")
    question = (messages.c.id.label("question_id"), messages.c.parts, messages.c.superseded_by)
    return select(runs, *question).join(messages, of_run)
