"""POST /api/chat: from a request to a run that is executed and read.

All of it is inside one budget (REQ-A15), and none of it waits for a model or for the durable machinery: the response opens
while the run is still on its way to whoever executes it.
"""

import asyncio

from starlette.requests import Request
from starlette.types import ASGIApp

from api.bodies import parse_object, read_body
from api.callers import Caller
from api.chat_body import ChatBody, parse_chat
from api.gate import Gate
from api.ports import ApiParts
from api.reading import BEGINNING, Readers
from api.reply import WholeAnswer
from api.requests import parse_cursor, parse_query, parse_sdk, parse_wire, wants_stream
from api.turns import OpenedTurn, Turns
from frames.projection import Projection
from protocol.errors import TurnkeepError


class Chat:
    """The turn endpoint."""

    def __init__(self, parts: ApiParts, gate: Gate, readers: Readers) -> None:
        self._parts = parts
        self._gate = gate
        self._readers = readers
        self._turns = Turns(parts, gate)

    async def post(self, request: Request, caller: Caller) -> ASGIApp:
        """The response to a chat request. Raises TurnkeepError."""
        query = parse_query(request.scope["query_string"])
        projection = Projection(parse_sdk(query) or self._parts.default_sdk, parse_wire(query))
        # A cursor counts only where the run is known: some clients send the whole request again to come back.
        cursor = parse_cursor(query, request.headers) or BEGINNING
        streams = wants_stream(query, request.headers)
        if streams:
            self._readers.seats.require_free()
        try:
            async with asyncio.timeout(self._parts.limits.prestream_ms / 1000):
                turn = await self._turns.open(caller, await self._body(request), projection.sdk)
                if streams and turn.known:
                    return await self._readers.resume(turn.grant, cursor, projection)
                return await self._first_reader(turn, projection, streams=streams)
        except TimeoutError:
            raise TurnkeepError("timeout", "The turn did not begin in time.") from None

    async def _body(self, request: Request) -> ChatBody:
        limits = self._parts.limits
        body = parse_object(await read_body(request.receive, limits.body_bytes), limits.body_depth)
        return parse_chat(body, request.headers.get("idempotency-key"), limits.message_characters)

    async def _first_reader(self, turn: OpenedTurn, projection: Projection, *, streams: bool) -> ASGIApp:
        viewer = await turn.place.hub.attach(turn.grant.run_id, BEGINNING.index)
        headers = self._gate.headers(turn.grant, turn.place, turn.transport)
        if streams:
            return self._readers.stream(viewer, projection, headers)
        seconds = self._parts.limits.json_ms / 1000
        return WholeAnswer(viewer, headers, conversation_id=turn.conversation_id, seconds=seconds)
