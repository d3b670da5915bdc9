"""POST /api/chat: from a request to a run that is executed and read.

All of it is inside one budget (REQ-A15), and none of it waits for a model or for the durable machinery: the response opens
while the run is still on its way to whoever executes it.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from starlette.requests import Request
from starlette.types import ASGIApp

from api.bodies import parse_object, read_body
from api.callers import Caller
from api.chat_body import ChatBody, parse_chat
from api.gate import Gate, gone
from api.input_body import Continuation, parse_continuation
from api.inputs import Inputs
from api.leaving import leaving
from api.ports import ApiParts
from api.reading import BEGINNING, Readers, look_of
from api.reply import WholeAnswer
from api.requests import Cursor, parse_cursor, parse_query, wants_stream
from api.stored import stored_frames
from api.stream import FrameReader
from api.tail import asked_end
from api.turns import OpenTurn, PastTurn, Turns
from frames.projection import Projection
from protocol.errors import TurnkeepError
from protocol.json import JsonObject


class Chat:
    """The turn endpoint."""

    def __init__(self, parts: ApiParts, gate: Gate, readers: Readers) -> None:
        self._parts = parts
        self._gate = gate
        self._readers = readers
        self._turns = Turns(parts, gate)
        self._inputs = Inputs(parts, gate)

    async def post(self, request: Request, caller: Caller) -> ASGIApp:
        """The response to a chat request. Raises TurnkeepError."""
        query = parse_query(request.scope["query_string"])
        projection = look_of(request).projection(self._parts.default_sdk)
        # A cursor counts only where the run is known: some clients send the whole request again to come back.
        given = parse_cursor(query, request.headers)
        cursor = given or BEGINNING
        streams = wants_stream(query, request.headers)
        if streams:
            self._readers.seats.require_free()
        try:
            async with asyncio.timeout(self._parts.limits.prestream_ms / 1000):
                body = await self._object(request)
                going_on = parse_continuation(body, self._parts.limits.message_characters)
                if going_on is not None and streams:
                    return await self._go_on(caller, going_on, given, projection)
                chat = self._body(request, body)
                turn = await self._turns.open(caller, chat, projection.sdk)
                if streams and isinstance(turn, OpenTurn) and turn.known:
                    return await self._readers.resume(turn.grant, cursor, projection, leaves=chat.by_sdk)
                reader = await self._reader(turn, cursor, leaves=streams and chat.by_sdk)
        except TimeoutError:
            raise TurnkeepError("timeout", "The turn did not begin in time.") from None
        headers = self._headers(turn)
        if streams:
            return self._readers.stream(turn.grant, reader, projection, headers)
        conversation_id = (turn.run if isinstance(turn, PastTurn) else turn).conversation_id
        seconds = self._parts.limits.json_ms / 1000
        return WholeAnswer(reader, headers, conversation_id=conversation_id, seconds=seconds)

    async def _go_on(
        self, caller: Caller, going_on: Continuation, cursor: Cursor | None, projection: Projection
    ) -> ASGIApp:
        """Record what was decided and stream what comes of it: the rest of the message that the client holds."""
        grant = replace(await self._gate.run(caller, going_on.run_id, "stop"), sdk=projection.sdk)
        place, view = await self._gate.locate(grant.run_id)
        await self._inputs.put(grant, going_on.inputs)
        if cursor is None:
            cursor = Cursor(await asked_end(place.store, grant.run_id, view.next, going_on.inputs[-1].target))
        return await self._readers.resume(grant, cursor, projection, leaves=True)

    async def _object(self, request: Request) -> JsonObject:
        limits = self._parts.limits
        body = await read_body(request.receive, limits.body_bytes, " Upload larger files to /api/files first.")
        return parse_object(body, limits.body_depth)

    def _body(self, request: Request, body: JsonObject) -> ChatBody:
        return parse_chat(body, request.headers.get("idempotency-key"), self._parts.limits.message_characters)

    async def _reader(self, turn: OpenTurn | PastTurn, cursor: Cursor, *, leaves: bool) -> FrameReader:
        if isinstance(turn, OpenTurn):
            viewer = await turn.place.hub.attach(turn.grant.run_id, BEGINNING.index)
            return leaving(turn.place, turn.grant.run_id, viewer) if leaves else viewer
        if cursor != BEGINNING:
            raise gone(turn.run)
        return await stored_frames(self._parts.records, turn.run)

    def _headers(self, turn: OpenTurn | PastTurn) -> Mapping[str, str]:
        if isinstance(turn, OpenTurn):
            return self._gate.headers(turn.grant, turn.place, turn.transport)
        return self._gate.headers(turn.grant, None, turn.run.transport)
