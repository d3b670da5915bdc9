"""Conversations and their messages, for their owner."""

from dataclasses import asdict
from typing import Final, TypeVar, cast

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response

from api.bodies import parse_object, read_body
from api.callers import principal_of
from api.deleting import delete_conversation
from api.errors import error_value, json_response, not_found
from api.gate import Gate
from api.ports import ApiParts
from api.requests import parse_limit, parse_order, parse_query
from api.run_view import parse_after
from protocol.errors import TurnkeepError
from protocol.ids import CONVERSATION_ID
from protocol.json import JsonObject
from records.values import Conversation, Key, Span, StoredMessage

LISTED: Final = 100
MOST_LISTED: Final = 1_000
MESSAGES: Final = 200
MOST_MESSAGES: Final = 1_000


Shape = TypeVar("Shape", bound=BaseModel)


class _New(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    id: str | None = Field(default=None, pattern=f"^{CONVERSATION_ID.pattern}$")
    title: str = Field(default="", max_length=200)


class _Title(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    title: str = Field(max_length=200)


def conversation_routes(parts: ApiParts, gate: Gate) -> APIRouter:
    """Create, list, rename, delete, read."""
    routes = APIRouter(prefix="/api/conversations", tags=["conversations"])
    _add_reading(routes, parts)
    _add_changing(routes, parts, gate)
    return routes


def _add_reading(routes: APIRouter, parts: ApiParts) -> None:
    records = parts.records

    @routes.get("")
    async def listed(request: Request) -> Response:
        """`?limit=1…1000&after=`: the caller's conversations, the one changed last first. `next` begins the next page."""
        query, principal = parse_query(request.scope["query_string"]), principal_of(request)
        limit = parse_limit(query, LISTED, MOST_LISTED)
        past = parse_after(query["after"]) if "after" in query else None
        found = await records.conversations(principal.tenant, principal.owner, limit, past)
        value: JsonObject = {"conversations": [_shown(conversation) for conversation in found]}
        if len(found) == limit:
            value["next"] = f"{found[-1].updated_ms}-{found[-1].id}"
        return json_response(value)

    @routes.get("/{conversation}")
    async def one(request: Request, conversation: str) -> Response:
        """The conversation, without its messages."""
        found = await records.conversation(_key(request, conversation))
        if found is None:
            raise not_found()
        return json_response(_shown(found))

    @routes.get("/{conversation}/messages")
    async def messages(request: Request, conversation: str) -> Response:
        """`?limit=1…1000&order=asc|desc`: messages by their sequence. That of an active run is not among them."""
        query = parse_query(request.scope["query_string"])
        span = Span(limit=parse_limit(query, MESSAGES, MOST_MESSAGES), order=parse_order(query))
        found = await records.messages(_key(request, conversation), span)
        if found is None:
            raise not_found()
        return json_response({"messages": [_message(message) for message in found]})


def _add_changing(routes: APIRouter, parts: ApiParts, gate: Gate) -> None:
    records = parts.records

    async def body(request: Request) -> JsonObject:
        return parse_object(await read_body(request.receive, parts.limits.body_bytes), parts.limits.body_depth)

    @routes.post("")
    async def create(request: Request) -> Response:
        """Create a conversation: `{"id"?, "title"?}`.

        409 with the `conversation`, as it is, where the caller has one of this id: then it is there, as asked for.
        """
        new = _checked(_New, await body(request))
        wanted = _key(request, new.id or f"c-{parts.new_id()}")
        created = await records.create(wanted, new.title, parts.clock.now_ms())
        conversation = await records.conversation(wanted)
        if conversation is None:
            raise not_found()  # somebody else's, or deleted: as where it is read
        if created:
            return json_response(_shown(conversation), 201)
        taken = error_value(TurnkeepError("conflict", "This conversation is there already."))
        return json_response({"error": taken, "conversation": _shown(conversation)}, 409)

    @routes.patch("/{conversation}")
    async def rename(request: Request, conversation: str) -> Response:
        """Give it a title: `{"title"}`. Its place in the list stays."""
        wanted = _key(request, conversation)
        title = _checked(_Title, await body(request)).title
        found = await records.conversation(wanted) if await records.rename(wanted, title) else None
        if found is None:
            raise not_found()
        return json_response(_shown(found))

    @routes.delete("/{conversation}")
    async def delete(request: Request, conversation: str) -> Response:
        """Delete it with its files: `{"success": true}`. A run under way is stopped. Its id is not used again."""
        await delete_conversation(parts, gate, _key(request, conversation))
        return json_response({"success": True})


def _key(request: Request, conversation_id: str) -> Key:
    """A conversation of the caller's. Raises TurnkeepError: `not_found` for what is no id."""
    principal = principal_of(request)
    if CONVERSATION_ID.fullmatch(conversation_id) is None:
        raise not_found()
    return Key(owner=principal.owner, conversation_id=conversation_id, tenant=principal.tenant)


def _checked(shape: type[Shape], body: JsonObject) -> Shape:
    try:
        return shape.model_validate(body)
    except ValidationError:
        # Not chained: the error would quote the body.
        fields = ", ".join(shape.model_fields)
        raise TurnkeepError("invalid", f"The body may have: {fields}. A title has at most 200 characters.") from None


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
