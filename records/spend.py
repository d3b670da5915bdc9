"""The ledger of model calls: what each may cost is reserved before it, what it cost is put in that place after it.

Laws (`tests/contract/records/test_spend.py`)
 D1  What is reserved and charged for a day never goes past its budget by a reservation, whoever else reserves at the same time.
 D2  Reserving the same call again reserves it once.
 D3  A call is charged once: the first charge stands, and the day changes by the difference to what was reserved.
 D4  Nothing is reserved for a run that is unknown or has ended. A new attempt closes what earlier ones left open.
 D5  A call that was let through while the ledger was away is written down with its charge.
 D6  When a run ends, what it left open is closed: it counts as reserved, as an estimate. No reservation outlives its run.
 D7  A day's row is the sum of its calls.

Rows are locked in one order (run, call, day), so no two transactions wait for each other. The day's row, which all calls of a
day want, comes last.
"""

from collections.abc import Callable

from sqlalchemy import ColumnElement, Connection, Table, and_, case, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from protocol.model import Usage
from records.schema import runs, spend, spend_days
from records.spend_values import Admission, CallKey, Charge, Reservation, SpendTotal

# Both databases know ON CONFLICT, each under its own name.
_INSERT: dict[str, Callable[[Table], sqlite.Insert | postgresql.Insert]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
_TOKENS = tuple(Usage.model_fields)


def reserve(connection: Connection, reservation: Reservation, budget: int) -> Admission:
    """Reserve the call, if its run goes on and the budget has room."""
    key = reservation.key
    # Locked, so that the run does not end between this look and our commit: nobody would close what is reserved then.
    alive = select(runs).where(runs.c.run_id == key.run_id, runs.c.ended_ms.is_(None)).with_for_update(read=True)
    run = connection.execute(alive).mappings().one_or_none()
    if run is None:
        return "ended"
    if key.attempt > 1:
        _close(connection, and_(spend.c.run_id == key.run_id, spend.c.attempt < key.attempt), reservation.now_ms)
    insert = _INSERT[connection.dialect.name](spend).values(
        **_row(reservation),
        tenant=run["tenant"],
        owner=run["owner"],
        conversation_id=run["conversation_id"],
        micro_usd=reservation.micro_usd,
    )
    if connection.execute(insert.on_conflict_do_nothing()).rowcount == 0:
        return "reserved"
    if _add(connection, reservation, reservation.micro_usd, budget=budget):
        return "reserved"
    connection.execute(delete(spend).where(_is(key)))
    return "over_budget"


def charge(connection: Connection, reservation: Reservation, charge: Charge, now_ms: int) -> None:
    """Charge the call, unless that was done."""
    key = reservation.key
    query = select(spend.c.state, spend.c.micro_usd).where(_is(key)).with_for_update()
    found = connection.execute(query).one_or_none()
    if found is None:
        if charge.released or not _write_down(connection, reservation):
            return
    elif found.state != "reserved":
        return
    connection.execute(
        update(spend)
        .where(_is(key))
        .values(
            state="released" if charge.released else "settled",
            estimated=charge.estimated,
            micro_usd=charge.micro_usd,
            settled_ms=now_ms,
            **charge.usage.model_dump(),
        )
    )
    _add(connection, reservation, charge.micro_usd - (found.micro_usd if found else 0))


def close(connection: Connection, run_id: str, now_ms: int) -> int:
    """Close what the run left open; what the run cost."""
    _close(connection, spend.c.run_id == run_id, now_ms)
    return cost(connection, run_id)


def cost(connection: Connection, run_id: str) -> int:
    """What the run's calls come to."""
    return int(connection.execute(select(_sum(spend.c.micro_usd)).where(spend.c.run_id == run_id)).scalar_one())


def totals(connection: Connection, since_day: int, until_day: int) -> tuple[SpendTotal, ...]:
    """What was spent in the days, by pipeline and model."""
    names = (spend.c.pipeline, spend.c.model)
    query = (
        select(
            *names,
            func.count().label("calls"),
            _sum(case((spend.c.state == "reserved", 1), else_=0)).label("open"),
            _sum(case((spend.c.estimated, 1), else_=0)).label("estimated"),
            *(_sum(spend.c[name]).label(name) for name in ("micro_usd", *_TOKENS)),
        )
        .where(spend.c.day >= since_day, spend.c.day < until_day, spend.c.state != "released")
        .group_by(*names)
        .order_by(*names)
    )
    return tuple(
        SpendTotal(
            pipeline=row["pipeline"],
            model=row["model"],
            calls=row["calls"],
            open=int(row["open"]),
            estimated=int(row["estimated"]),
            micro_usd=int(row["micro_usd"]),
            usage=Usage(**{name: int(row[name]) for name in _TOKENS}),
        )
        for row in connection.execute(query).mappings()
    )


def used(connection: Connection, pipeline: str, day: int) -> int:
    """What of the day's budget is used or reserved."""
    query = select(spend_days.c.micro_usd).where(spend_days.c.pipeline == pipeline, spend_days.c.day == day)
    return connection.execute(query).scalar_one_or_none() or 0


def _is(key: CallKey) -> ColumnElement[bool]:
    return and_(
        spend.c.run_id == key.run_id,
        spend.c.step == key.step,
        spend.c.attempt == key.attempt,
        spend.c.number == key.number,
    )


def _row(reservation: Reservation) -> dict[str, object]:
    key = reservation.key
    return {
        "run_id": key.run_id,
        "step": key.step,
        "attempt": key.attempt,
        "number": key.number,
        "pipeline": reservation.pipeline,
        "day": reservation.day,
        "model": reservation.model,
        "state": "reserved",
        "estimated": True,
        "created_ms": reservation.now_ms,
        **reservation.usage.model_dump(),
    }


def _write_down(connection: Connection, reservation: Reservation) -> bool:
    """Insert a call that nothing was reserved for. False where its run is unknown: nobody could be told what it was for."""
    whose = select(runs.c.tenant, runs.c.owner, runs.c.conversation_id).where(runs.c.run_id == reservation.key.run_id)
    run = connection.execute(whose).mappings().one_or_none()
    if run is None:
        return False
    connection.execute(spend.insert().values(**_row(reservation), **run, micro_usd=0))
    return True


def _close(connection: Connection, which: ColumnElement[bool], now_ms: int) -> None:
    # The day does not change: what was reserved is in it.
    connection.execute(
        update(spend).where(which, spend.c.state == "reserved").values(state="settled", settled_ms=now_ms)
    )


def _add(connection: Connection, reservation: Reservation, micro_usd: int, *, budget: int | None = None) -> bool:
    """Add to the day, in one statement. False where a budget is named and has no room."""
    if budget is not None and micro_usd > budget:
        return False  # the first row of a day would be inserted, whatever the condition below says
    insert = _INSERT[connection.dialect.name](spend_days).values(
        pipeline=reservation.pipeline, day=reservation.day, micro_usd=micro_usd
    )
    total = spend_days.c.micro_usd + insert.excluded.micro_usd
    upsert = insert.on_conflict_do_update(
        index_elements=[spend_days.c.pipeline, spend_days.c.day],
        set_={"micro_usd": total},
        where=None if budget is None else total <= budget,
    )
    return connection.execute(upsert).rowcount == 1


def _sum(column: ColumnElement[int]) -> ColumnElement[int]:
    return func.coalesce(func.sum(column), 0)
