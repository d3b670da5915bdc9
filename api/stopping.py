"""Stopping a run, whoever may: recorded before it is answered, and seen to where nobody executes the run."""

import asyncio
from typing import Final

from api.errors import not_found
from api.gate import Gate
from api.ports import ApiParts, Place
from frames.viewer import Aborted
from protocol.errors import TurnkeepError
from protocol.json import JsonObject

FOREVER_SECONDS: Final = 60.0  # of one look at a log; the caller's bound is shorter


async def stop_run(parts: ApiParts, gate: Gate, run_id: str) -> JsonObject:
    """Record the stop. Raises TurnkeepError: `not_found`, `unavailable`."""
    for place in (parts.memory, parts.primary):
        view = await place.store.stop(run_id)
        if view is not None:
            break
    else:
        return await _stop_without_log(gate, run_id)
    if view.state == "ended":
        return {"success": True, "status": view.status, "ended": True}
    if not view.lease_ms:  # nobody executes it now, so nobody would see the stop (C18)
        if place.durable:
            await parts.dispatch.nudge(run_id)
        else:
            await parts.dispatch.wake(run_id, memory=True)
    # Sealed with a stop on record, it is the stop that ends it: the executor may be faster than this answer.
    status = "ending" if view.state == "sealed" and not view.stop else "stopping"
    return {"success": True, "status": status, "ended": False}


async def end_run(parts: ApiParts, gate: Gate, run_id: str) -> bool:
    """Stop the run and see its end, which the records then hold. False where that takes longer, or cannot be seen from here."""
    try:
        async with asyncio.timeout(parts.limits.interrupt_ms / 1000):
            await stop_run(parts, gate, run_id)
            found = await gate.find(run_id)
            if found is None:
                return False
            place, view = found
            await _end_of(place, run_id, view.next)
    except (TimeoutError, Aborted, TurnkeepError):
        return False
    return True


async def _end_of(place: Place, run_id: str, start: int) -> None:
    reader = await place.hub.attach(run_id, start)
    try:
        while not reader.ended:
            await reader.next(FOREVER_SECONDS)
    finally:
        reader.close()


async def _stop_without_log(gate: Gate, run_id: str) -> JsonObject:
    row = await gate.row(run_id)
    if row is None:
        raise not_found()
    if row.ended_ms is None:
        # The row was written and its keys are not there, this very moment or because the store lost them. A stop that
        # could not be recorded must not look like one that was.
        raise TurnkeepError("unavailable", "The stop could not be recorded yet.")
    return {"success": True, "status": row.status, "ended": True}
