"""Stopping a run, and what is known of one without its content."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.callers import caller_of
from api.errors import json_response, not_found
from api.gate import Gate, Grant
from api.ports import ApiParts
from checkpoints.port import RunView
from protocol.errors import TurnkeepError
from protocol.json import JsonObject
from records.values import Run


def run_routes(parts: ApiParts, gate: Gate) -> APIRouter:
    """Stop and status. A run is named by its handle, or by its id with the owner's session or a resume token."""
    routes = APIRouter(tags=["runs"])

    @routes.post("/api/chat/{run}/stop")
    async def stop(request: Request, run: str) -> Response:
        """Stop the run: `{"success": true, "status", "ended"}`. Recorded when answered, and harmless to repeat.

        `status` is `stopping`, `ending` where the run was about to end by itself, or how it has ended.
        """
        grant = await gate.run(caller_of(request), run, "stop")
        return json_response(await _stop(parts, gate, grant))

    @routes.get("/api/runs/{run}")
    async def status(request: Request, run: str) -> Response:
        """Status, transport and counts. The answer to the owner's session renews the resume token."""
        grant = await gate.run(caller_of(request), run, "read")
        row = await gate.row(grant.run_id)
        if row is None:
            raise not_found()
        found = await gate.find(grant.run_id)
        if found is None:
            return json_response(_without_log(row))
        place, view = found
        return json_response(_with_log(row, view), headers=gate.headers(grant, place, view.mode or row.transport))

    return routes


async def _stop(parts: ApiParts, gate: Gate, grant: Grant) -> JsonObject:
    for place in (parts.memory, parts.primary):
        view = await place.store.stop(grant.run_id)
        if view is not None:
            break
    else:
        return await _stop_without_log(gate, grant)
    if view.state == "ended":
        return {"success": True, "status": view.status, "ended": True}
    if not view.lease_ms:  # nobody executes it now, so nobody would see the stop (C18)
        if place.durable:
            await parts.dispatch.nudge(grant.run_id)
        else:
            await parts.dispatch.wake(grant.run_id, memory=True)
    # Sealed with a stop on record, it is the stop that ends it: the executor may be faster than this answer.
    status = "ending" if view.state == "sealed" and not view.stop else "stopping"
    return {"success": True, "status": status, "ended": False}


async def _stop_without_log(gate: Gate, grant: Grant) -> JsonObject:
    row = await gate.row(grant.run_id)
    if row is None:
        raise not_found()
    if row.ended_ms is None:
        # The row was written and its keys are not there, this very moment or because the store lost them. A stop that
        # could not be recorded must not look like one that was.
        raise TurnkeepError("unavailable", "The stop could not be recorded yet.")
    return {"success": True, "status": row.status, "ended": True}


def _with_log(row: Run, view: RunView) -> JsonObject:
    # The log has the last word: a run has ended when its reader has seen so, not a moment before.
    states = {"ended": view.status, "open": "accepted", "parked": "parked"}
    parked: JsonObject = {"waiting": [*view.waiting], "waits_until_ms": view.until_ms} if view.waiting else {}
    return (
        _without_log(row)
        | parked
        | {
            "status": states.get(view.state, "running"),
            "transport": view.mode,
            "attempt": view.attempt,
            "frames": view.next,
            "stop_requested": view.stop,
        }
    )


def _without_log(row: Run) -> JsonObject:
    return {
        "run_id": row.run_id,
        "conversation_id": row.conversation_id,
        "message_id": row.message_id,
        "assistant": row.assistant,
        "status": row.status,
        "kind": row.kind,
        "transport": row.transport,
        "stored": row.ended_ms is not None,
        "created_ms": row.created_ms,
        "updated_ms": row.updated_ms,
        "ended_ms": row.ended_ms,
    }
