"""POST /api/chat/{run}/input: a person decides, answers, or says something else. Recorded, then answered, then taken in."""

from collections.abc import Sequence

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.bodies import parse_object, read_body
from api.callers import caller_of
from api.errors import json_response, not_found
from api.gate import Gate, Grant
from api.input_body import parse_input
from api.ports import ApiParts, Place
from checkpoints.port import Refusal, RunView
from protocol.errors import TurnkeepError
from protocol.turn import TurnInput


def input_routes(parts: ApiParts, gate: Gate) -> APIRouter:
    """The route of inputs. A run is named by its handle, or by its id with the owner's session or a resume token."""
    routes = APIRouter(tags=["runs"])
    inputs = Inputs(parts, gate)

    @routes.post("/api/chat/{run}/input")
    async def put_input(request: Request, run: str) -> Response:
        """Approve, deny, answer or steer: `{"success": true, "id"}`. Recorded when answered, and harmless to repeat.

        Needs the right to stop: who may end a run may also say how it goes on.
        """
        grant = await gate.run(caller_of(request), run, "stop")
        limits = parts.limits
        body = parse_object(await read_body(request.receive, limits.body_bytes), limits.body_depth)
        found = parse_input(body, parts.new_id(), limits.message_characters)
        await inputs.put(grant, (found,))
        return json_response({"success": True, "id": found.id})

    return routes


class Inputs:
    """Inboxes of runs, wherever they live."""

    def __init__(self, parts: ApiParts, gate: Gate) -> None:
        self._parts = parts
        self._gate = gate

    async def put(self, grant: Grant, inputs: Sequence[TurnInput]) -> None:
        """Record the inputs and have them taken in.

        Raises:
            TurnkeepError: `not_found`; `conflict` where the run has ended or is about to; `too_large` where it takes no
                more; `unavailable`.
        """
        for place in (self._parts.memory, self._parts.primary):
            view = await self._put(place, grant.run_id, inputs)
            if view is not None:
                if not view.lease_ms:  # else whoever executes the run hears of it
                    await self._parts.dispatch.wake(grant.run_id, memory=not place.durable)
                return
        row = await self._gate.row(grant.run_id)
        if row is None:
            raise not_found()
        if row.ended_ms is not None:
            raise _ended()
        raise TurnkeepError("unavailable", "The input could not be recorded yet.")

    @staticmethod
    async def _put(place: Place, run_id: str, inputs: Sequence[TurnInput]) -> RunView | None:
        """The run after it. None where it is not in this place."""
        view: RunView | None = None
        for one in inputs:
            reply = await place.store.put_input(run_id, one.id, one.model_dump_json().encode())
            match reply:
                case Refusal.MISSING:
                    return None
                case Refusal.FULL:
                    raise TurnkeepError("too_large", "The run takes no more inputs.")
                case Refusal():
                    raise _ended()
                case _:
                    view = reply
        return view


def _ended() -> TurnkeepError:
    return TurnkeepError("conflict", "The run has ended.")
