"""Stopping a run, and what is known of one without its content."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.callers import caller_of
from api.errors import json_response, not_found
from api.gate import Gate
from api.ports import ApiParts
from api.run_view import of_log, of_row
from api.stopping import stop_run
from protocol.ids import CALL_ID
from protocol.json import JsonObject


def run_routes(parts: ApiParts, gate: Gate) -> APIRouter:
    """Stop and status. A run is named by its handle, or by its id with the owner's session or a resume token."""
    routes = APIRouter(tags=["runs"])

    @routes.post("/api/chat/{run}/stop")
    async def stop(request: Request, run: str) -> Response:
        """Stop the run: `{"success": true, "status", "ended"}`. Recorded when answered, and harmless to repeat.

        `status` is `stopping`, `ending` where the run was about to end by itself, or how it has ended.
        """
        grant = await gate.run(caller_of(request), run, "stop")
        return json_response(await stop_run(parts, gate, grant.run_id))

    @routes.get("/api/runs/{run}")
    async def status(request: Request, run: str) -> Response:
        """Status, transport, counts, the cost so far, and the state of every tool call. The answer to the owner's session renews the resume token."""
        grant = await gate.run(caller_of(request), run, "read")
        row = await gate.row(grant.run_id)
        if row is None:
            raise not_found()
        cost: JsonObject = {"cost_micro_usd": await parts.records.cost(grant.run_id)}
        found = await gate.find(grant.run_id)
        if found is None:
            return json_response(of_row(row) | cost)
        place, view = found
        known = of_log(row, view, await place.store.ledger(grant.run_id)) | cost
        return json_response(known, headers=gate.headers(grant, place, view.mode or row.transport))

    @routes.get("/api/runs/{run}/outputs/{call}")
    async def output(request: Request, run: str, call: str) -> Response:
        """The whole output of a tool call that its frame holds only the beginning of."""
        grant = await gate.run(caller_of(request), run, "read")
        found = await parts.records.output(grant.run_id, call) if CALL_ID.fullmatch(call) else None
        if found is None:
            raise not_found()
        return json_response(found)

    return routes
