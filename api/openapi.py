"""What /openapi.json says: every route, who may use it, what it takes, and every way it answers.

Written by hand, because bodies are read and checked by our own rules (`api.bodies`), and held against the router's table by a
test: a route that nobody declared here, and with it who may use it, fails. The texts are the routes' own.

Who may use a route
    open       everybody
    owner      somebody, for what is theirs
    run        the run's owner, or a resume token with the right
    internal   who has the internal token
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal, cast

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from api.chat_body import KEY_CHARACTERS
from api.errors import json_response
from api.requests import MOST_INDEX
from api.shapes import CURSOR, DAY, ERROR, EVENT, NAME, SHAPES, STATE, Shape, string
from protocol.errors import HTTP_STATUS
from protocol.json import JsonObject

Policy = Literal["open", "owner", "run", "internal"]

_STREAM: Final = "text/event-stream"
_SCHEMES: Final[JsonObject] = {
    "session": {"type": "apiKey", "in": "cookie", "name": "turnkeep_session"},
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key, or a token of the issuer."},
    "resume": {"type": "apiKey", "in": "header", "name": "x-chat-resume-token"},
    "internal": {"type": "http", "scheme": "bearer", "description": "INTERNAL_API_TOKEN"},
}
# An empty requirement: where sessions are admitted, whoever comes without one gets one.
_SECURITY: Final[Mapping[Policy, list[dict[str, list[str]]]]] = {
    "open": [],
    "owner": [{}, {"session": []}, {"bearer": []}],
    "run": [{}, {"session": []}, {"bearer": []}, {"resume": []}],
    "internal": [{"internal": []}],
}
_USUAL: Final = (
    "invalid",
    "unauthenticated",
    "not_found",
    "rate_limited",
    "unavailable",
)  # of all routes but the open ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one address. `answers`: by status, the name of a shape, or "" for none; `errors`: kinds besides the usual."""

    policy: Policy
    answers: Mapping[int, str]
    errors: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    body: str = ""
    streams: bool = False


_INDEX: Final[Shape] = {"type": "integer", "minimum": -MOST_INDEX, "maximum": MOST_INDEX}
_QUERY: Final[Mapping[str, Shape]] = {
    "startIndex": _INDEX,
    "runId": string(pattern="^[0-9a-fA-F-]{36}$"),
    "stream": string(enum=["0", "1"]),
    "wire": string(enum=["events", "data"]),
    "sdk": string(enum=["5", "6", "7"]),
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
    "order": string(enum=["asc", "desc"]),
    "mode": string(enum=["sliced", "inline"]),
    "state": STATE,
    "owner": NAME,
    "tenant": NAME,
    "name": string(),
    "after": string(pattern=CURSOR),
    "since": DAY,
    "until": DAY,
}
_HEADERS: Final[Mapping[str, Shape]] = {"Idempotency-Key": string(minLength=1, maxLength=KEY_CHARACTERS)}
_OPTIONAL: Final = frozenset({"NewConversation"})  # bodies that may be left out
_READING: Final = ("startIndex", "wire", "sdk")

OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", "/api/chat"): Operation(
        policy="owner", body="Chat", query=("stream", *_READING), headers=("Idempotency-Key",), answers={200: "Answer"}, streams=True,
        errors=("timeout", "conflict", "gone", "too_large", "not_configured", "upstream"),
    ),
    ("GET", "/api/chat/stream"): Operation(
        policy="run", query=("runId", *_READING), answers={200: "", 204: ""}, streams=True, errors=("gone",)
    ),
    ("GET", "/api/chat/{name}/stream"): Operation(
        policy="run", query=_READING, answers={200: "", 204: ""}, streams=True, errors=("gone",)
    ),
    ("POST", "/api/chat/{run}/stop"): Operation(policy="run", answers={200: "Stopped"}),
    ("POST", "/api/chat/{run}/input"): Operation(
        policy="run", body="Input", answers={200: "Recorded"}, errors=("conflict", "too_large")
    ),
    ("GET", "/api/runs/{run}"): Operation(policy="run", answers={200: "Run"}),
    ("GET", "/api/runs/{run}/outputs/{call}"): Operation(policy="run", answers={200: "Output"}),
    ("POST", "/api/conversations"): Operation(
        policy="owner", body="NewConversation", answers={201: "Conversation"}, errors=("too_large", "conflict")
    ),
    ("GET", "/api/conversations"): Operation(
        policy="owner", query=("limit", "after"), answers={200: "Conversations"}
    ),
    ("GET", "/api/conversations/{conversation}"): Operation(policy="owner", answers={200: "Conversation"}),
    ("PATCH", "/api/conversations/{conversation}"): Operation(
        policy="owner", body="Title", answers={200: "Conversation"}, errors=("too_large",)
    ),
    ("DELETE", "/api/conversations/{conversation}"): Operation(policy="owner", answers={200: "Deleted"}),
    ("POST", "/api/files"): Operation(
        policy="owner", query=("name",), answers={200: "File", 201: "File"}, errors=("too_large",)
    ),
    ("GET", "/api/files/{file}"): Operation(policy="owner", answers={200: "text"}),
    ("GET", "/api/conversations/{conversation}/messages"): Operation(
        policy="owner", query=("limit", "order"), answers={200: "Messages"}
    ),
    ("GET", "/api/assistant"): Operation(policy="owner", answers={200: "Assistant"}),
    ("GET", "/healthz"): Operation(policy="open", answers={200: "Health"}),
    ("GET", "/readyz"): Operation(policy="open", answers={200: "Ready", 503: "Ready"}),
    ("GET", "/metrics"): Operation(policy="open", answers={200: "text"}),
    ("GET", "/internal/dispatch"): Operation(policy="internal", answers={200: "Status"}),
    ("PUT", "/internal/dispatch"): Operation(
        policy="internal", body="Switch", answers={200: "Status"}, errors=("too_large",)
    ),
    ("GET", "/internal/settings"): Operation(policy="internal", answers={200: "Status"}),
    ("POST", "/internal/smoke"): Operation(
        policy="internal", query=("mode",), answers={200: "Status"}, errors=("timeout", "not_configured")
    ),
    ("GET", "/internal/runs"): Operation(
        policy="internal", query=("state", "owner", "tenant", "limit", "after"), answers={200: "Runs"}
    ),
    ("GET", "/internal/spend"): Operation(policy="internal", query=("since", "until"), answers={200: "Spend"}),
    ("POST", "/internal/runs/stop"): Operation(
        policy="internal", body="StopRuns", answers={200: "Runs"}, errors=("too_large",)
    ),
}  # fmt: skip


def document(routes: Iterable[APIRoute]) -> dict[str, Any]:
    """The OpenAPI document of these routes. Raises KeyError for one that nobody declared."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        for method in route.methods or ():
            paths.setdefault(route.path, {})[method.lower()] = _operation(route, OPERATIONS[method, route.path])
    return {
        "openapi": "3.1.0",
        "info": {"title": "Turnkeep", "version": "1"},
        "paths": paths,
        "components": {"schemas": cast("JsonObject", dict(SHAPES)), "securitySchemes": _SCHEMES},
    }


def described(routes: Iterable[APIRoute]) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint that answers with the document."""
    value = cast("JsonObject", document(routes))

    async def openapi(_: Request) -> Response:
        return json_response(value)

    return openapi


def _operation(route: APIRoute, operation: Operation) -> dict[str, Any]:
    named = [piece[1:-1] for piece in route.path.split("/") if piece.startswith("{")]
    path = [{"name": name, "in": "path", "required": True, "schema": string(minLength=1)} for name in named]
    query = [{"name": name, "in": "query", "schema": _QUERY[name]} for name in operation.query]
    headers = [{"name": name, "in": "header", "schema": _HEADERS[name]} for name in operation.headers]
    described: dict[str, Any] = {
        "operationId": route.name,
        "tags": list(route.tags),
        "summary": (route.description or route.name).partition("\n")[0],
        "description": route.description,
        "security": _SECURITY[operation.policy],
        "parameters": [*path, *query, *headers],
        "responses": _responses(operation),
    }
    if operation.body:
        content = {"application/json": {"schema": _named(operation.body)}}
        described["requestBody"] = {"content": content, "required": operation.body not in _OPTIONAL}
    return described


def _responses(operation: Operation) -> dict[str, Any]:
    responses = {str(status): _answer(operation, status, name) for status, name in operation.answers.items()}
    for kind in (*(() if operation.policy == "open" else _USUAL), *operation.errors):
        status = str(HTTP_STATUS[kind])
        content = {"application/json": {"schema": ERROR}}
        responses.setdefault(status, {"description": kind, "content": content})
    return responses


def _answer(operation: Operation, status: int, name: str) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if operation.streams and status == HTTPStatus.OK:
        content[_STREAM] = {"schema": EVENT}
    if name == "text":
        content["text/plain"] = {"schema": string()}
    elif name:
        content["application/json"] = {"schema": _named(name)}
    return {"description": name or "Frames", "content": content} if content else {"description": "Nothing more"}


def _named(name: str) -> Shape:
    return {"$ref": f"#/components/schemas/{name}"}
