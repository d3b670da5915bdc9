"""Stopping a run, whoever may: recorded before it is answered, and seen to where nobody executes the run."""

from api.errors import not_found
from api.gate import Gate
from api.ports import ApiParts
from protocol.errors import TurnkeepError
from protocol.json import JsonObject


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


async def _stop_without_log(gate: Gate, run_id: str) -> JsonObject:
    row = await gate.row(run_id)
    if row is None:
        raise not_found()
    if row.ended_ms is None:
        # The row was written and its keys are not there, this very moment or because the store lost them. A stop that
        # could not be recorded must not look like one that was.
        raise TurnkeepError("unavailable", "The stop could not be recorded yet.")
    return {"success": True, "status": row.status, "ended": True}
