"""Coming back to a run: from a cursor to an open stream.

    GET /api/chat/{handle}/stream?startIndex=N       the owner; the version of the SDK is in the handle
    GET /api/chat/stream?runId=R&startIndex=N        a resume token in the header
    GET /api/chat/{conversation}/stream              the active run from 0, or 204

Every answer carries a fresh token and the index it begins at. A negative index is resolved here, once, and told as an
absolute one. Nothing to send on an ended run is never an empty 200, which clients ask for again at once: an event source
gets 204, which makes it stop, everybody else an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from api.callers import Caller
from api.errors import not_found
from api.gate import Gate, Grant
from api.leaving import leaving
from api.ports import ApiParts
from api.requests import Cursor, parse_cursor, parse_query, parse_sdk, parse_wire
from api.stream import FrameReader, FrameStream, Pace, Seats
from api.tail import tail_start
from frames.projection import Projection, Sdk, Wire
from protocol.errors import TurnkeepError
from protocol.ids import CONVERSATION_ID
from records.values import Key

BEGINNING: Final = Cursor(0)
START_HEADER: Final = "x-turnkeep-start-index"
TAIL_HEADER: Final = "x-workflow-stream-tail-index"


@dataclass(frozen=True, slots=True)
class Look:
    """How the frames are to look; `sdk` None: as the run's handle says. Read before anything is looked up, like every parameter."""

    sdk: Sdk | None
    wire: Wire

    def projection(self, sdk: Sdk) -> Projection:
        """For a client of `sdk`, unless the request named another."""
        return Projection(self.sdk or sdk, self.wire)


class Readers:
    """Streams of runs."""

    def __init__(self, parts: ApiParts, gate: Gate, seats: Seats) -> None:
        self._parts = parts
        self._gate = gate
        self.seats = seats

    async def by_name(self, request: Request, caller: Caller, name: str) -> ASGIApp:
        """The stream of a handle, or of a conversation's active run."""
        query = parse_query(request.scope["query_string"])
        cursor = parse_cursor(query, request.headers) or BEGINNING
        look = look_of(request)
        if "." in name:
            grant = self._gate.by_handle(caller, name, "read")
            return await self.resume(grant, cursor, look.projection(grant.sdk))
        if CONVERSATION_ID.fullmatch(name) is None:
            raise not_found()
        principal = caller.require()
        key = Key(owner=principal.owner, conversation_id=name, tenant=principal.tenant)
        run = await self._parts.records.active_run(key)
        if run is None:
            return Response(status_code=204)
        grant = self._gate.grant(principal, run.run_id)
        # From 0 whatever the cursor: it may be of the conversation's last run, and this is the next one.
        return await self.resume(grant, BEGINNING, look.projection(grant.sdk), leaves=True)

    async def by_run_id(self, request: Request, caller: Caller) -> ASGIApp:
        """The stream of a run id, by resume token."""
        query = parse_query(request.scope["query_string"])
        cursor = parse_cursor(query, request.headers) or BEGINNING
        look = look_of(request)
        grant = self._gate.by_token(caller, query.get("runId", ""), "read")
        return await self.resume(grant, cursor, look.projection(grant.sdk))

    async def resume(self, grant: Grant, cursor: Cursor, projection: Projection, *, leaves: bool = False) -> ASGIApp:
        """The stream of a run from a cursor on. Raises TurnkeepError where there is nothing to send from there.

        `leaves`: as soon as the run waits for a person, the response ends.
        """
        self.seats.require_free()
        place, view = await self._gate.locate(grant.run_id)
        start, tail = cursor.index, view.next - 1
        if start < 0:
            start = await tail_start(place.store, grant.run_id, max(0, view.next + cursor.index))
            tail = start - 1 - cursor.index  # a stock client computes its own start as tail + 1 + index (C19)
        viewer = await place.hub.attach(grant.run_id, start)
        if viewer.ended:
            viewer.close()
            return _nothing_more(cursor, start)
        headers = {START_HEADER: str(start), TAIL_HEADER: str(tail)}
        headers |= self._gate.headers(grant, place, view.mode)
        reader = leaving(place, grant.run_id, viewer) if leaves else viewer
        return self.stream(grant, reader, projection, headers)

    def stream(
        self, grant: Grant, reader: FrameReader, projection: Projection, headers: Mapping[str, str]
    ) -> FrameStream:
        """The response that forwards what this reader gives, as long as the grant counts, and closes it."""
        left_ms = None if grant.expires_ms is None else grant.expires_ms - self._parts.clock.now_ms()
        pace = Pace(
            heartbeat_seconds=self._parts.limits.heartbeat_ms / 1000,
            seconds=None if left_ms is None else max(0, left_ms) / 1000,
        )
        return FrameStream(reader, projection, headers, seats=self.seats, pace=pace)


def look_of(request: Request) -> Look:
    """What a request wants its frames to look like. Raises TurnkeepError, `invalid`."""
    query = parse_query(request.scope["query_string"])
    return Look(parse_sdk(query, request.headers), parse_wire(query))


def _nothing_more(cursor: Cursor, end: int) -> Response:
    if cursor.by_event_id:
        return Response(status_code=204)
    details = {"code": "ended", "next": str(end)}
    raise TurnkeepError("invalid", "The run has ended before this index.", details=details)
