"""How a run ends in the records: the answer, what it cost, the run row and the conversation's free place in one transaction (C3, C18)."""

from sqlalchemy import Connection, insert, select, update

from records import runs, spend
from records.schema import conversations, messages
from records.schema import runs as run_rows
from records.values import Run, Settlement


def settle(connection: Connection, run_id: str, settlement: Settlement) -> bool:
    """End the run as its seal says, unless it has ended. True where the records hold this settlement afterwards."""
    end = (
        update(run_rows)
        .where(run_rows.c.run_id == run_id, run_rows.c.ended_ms.is_(None))
        .values(
            status=settlement.status,
            kind=settlement.kind,
            ended_ms=settlement.now_ms,
            updated_ms=settlement.now_ms,
        )
    )
    first = connection.execute(end).rowcount == 1
    run = runs.find(connection, run_id)
    if run is None:
        return False
    if first:
        cost = spend.close(connection, run_id, settlement.now_ms)
        _leave_place(connection, run, settlement, cost)
    return run.status == settlement.status and _holds_answer(connection, run, settlement)


def _leave_place(connection: Connection, run: Run, settlement: Settlement, cost: int) -> None:
    # Whoever has the place now keeps it; in a conversation that was deleted meanwhile no answer is kept (C5, FR34).
    held = (
        conversations.c.tenant == run.tenant,
        conversations.c.id == run.conversation_id,
        conversations.c.active_run_id == run.run_id,
    )
    place = connection.execute(select(conversations.c.deleted_ms).where(*held).with_for_update()).one_or_none()
    if place is None:
        return
    if place.deleted_ms is None and settlement.parts:
        connection.execute(insert(messages).values(_answer(run, settlement, cost)))
    connection.execute(update(conversations).where(*held).values(active_run_id=None, updated_ms=settlement.now_ms))


def _holds_answer(connection: Connection, run: Run, settlement: Settlement) -> bool:
    if not settlement.parts:
        return True
    query = select(messages.c.run_id).where(
        messages.c.tenant == run.tenant,
        messages.c.conversation_id == run.conversation_id,
        messages.c.sequence == run.sequence + 1,
        messages.c.run_id == run.run_id,
    )
    return connection.execute(query).one_or_none() is not None


def _answer(run: Run, settlement: Settlement, cost: int) -> dict[str, object]:
    return {
        "tenant": run.tenant,
        "conversation_id": run.conversation_id,
        "sequence": run.sequence + 1,
        "id": run.message_id,
        "role": "assistant",
        "run_id": run.run_id,
        "parts": settlement.parts,
        "provider": settlement.provider,
        "model": settlement.model,
        "outcome": settlement.status,
        "usage": settlement.usage.model_dump(),
        "created_ms": settlement.now_ms,
        "cost_micro_usd": cost,
    }
