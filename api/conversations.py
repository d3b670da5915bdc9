"""Conversations and their messages, for their owner."""

from dataclasses import asdict
from typing import Final, cast

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response

from api.bodies import parse_object, read_body
from api.callers import principal_of
from api.errors import json_response, not_found
from api.ports import ApiParts
from api.requests import parse_limit, parse_order, parse_query
from protocol.errors import TurnkeepError
from protocol.ids import CONVERSATION_ID
from protocol.json import JsonObject
from records.values import Conversation, Key, Span, StoredMessage

LISTED: Final = 100
MESSAGES: Final = 200
MOST_MESSAGES: Final = 1_000


class _New(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    id: str | None = Field(default=None, pattern=f"^{CONVERSATION_ID.pattern}$")
    title: str = Field(default="", max_length=200)


def conversation_routes(parts: ApiParts) -> APIRouter:
    """Create, list, read."""
    routes = APIRouter(prefix="/api/conversations", tags=["conversations"])
    records = parts.records

    def key(request: Request, conversation_id: str) -> Key:
        principal = principal_of(request)
        return Key(owner=principal.owner, conversation_id=conversation_id, tenant=principal.tenant)

    @routes.post("")
    async def create(request: Request) -> Response:
        """Create a conversation: `{"id"?, "title"?}`. Repeating it with the same id changes nothing."""
        body = await read_body(request.receive, parts.limits.body_bytes)
        new = _new(parse_object(body, parts.limits.body_depth))
        wanted = key(request, new.id or f"c-{parts.new_id()}")
        created = await records.create(wanted, new.title, parts.clock.now_ms())
        conversation = await records.conversation(wanted)
        if conversation is None:
            raise not_found()  # somebody else's, or deleted: as where it is read
        return json_response(_shown(conversation), 201 if created else 200)

    @routes.get("")
    async def listed(request: Request) -> Response:
        """The caller's conversations, the one changed last first."""
        principal = principal_of(request)
        found = await records.conversations(principal.tenant, principal.owner, LISTED)
        return json_response({"conversations": [_shown(conversation) for conversation in found]})

    @routes.get("/{conversation}/messages")
    async def messages(request: Request, conversation: str) -> Response:
        """`?limit=1…1000&order=asc|desc`: messages by their sequence. That of an active run is not among them."""
        query = parse_query(request.scope["query_string"])
        span = Span(limit=parse_limit(query, MESSAGES, MOST_MESSAGES), order=parse_order(query))
        if CONVERSATION_ID.fullmatch(conversation) is None:
            raise not_found()
        found = await records.messages(key(request, conversation), span)
        if found is None:
            raise not_found()
        return json_response({"messages": [_message(message) for message in found]})

    return routes


def _new(body: JsonObject) -> _New:
    try:
        return _New.model_validate(body)
    except ValidationError:
        # Not chained: the error would quote the body.
        raise TurnkeepError("invalid", "A conversation has an id and a title, both optional.") from None


def _shown(conversation: Conversation) -> JsonObject:
    shown = cast("JsonObject", asdict(conversation))
    return {name: shown[name] for name in ("id", "title", "active_run_id", "created_ms", "updated_ms")}


def _message(message: StoredMessage) -> JsonObject:
    shown = cast("JsonObject", asdict(message))
    return shown | {
        "parts": [*message.parts],
        "usage": message.usage.model_dump(),
        "suggested": [*message.suggested],
    }
