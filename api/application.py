"""The application: who calls, which room of the house answers, and what every answer has in common.

Two ways lead through it. Streams are matched here and write to the server's own `send`; everything else goes through FastAPI,
which knows the routes and describes them at /openapi.json. FastAPI in front of a stream costs half of a frame's price again.

Every request passes the door (api/door.py) before any route. Every answer of the API and the page gets the session's cookie
where it is new, every error one shape, every first byte a measurement. No middleware class of a framework is used: the usual
one turns a broken stream into a clean end.
"""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.assistants import assistant_routes
from api.bodies import Disconnected
from api.callers import SCOPE_KEY, Caller, cookie_of
from api.chat import Chat
from api.conversations import conversation_routes
from api.door import Door
from api.errors import error_response
from api.files import file_routes
from api.gate import Gate
from api.inputs import input_routes
from api.openapi import described
from api.operations import health_routes, internal_routes
from api.operators import operator_routes
from api.pages import Pages
from api.ports import ApiParts
from api.reading import Readers
from api.runs import run_routes
from api.schema import stream_routes
from api.spend import spend_routes
from api.stream import FrameStream, Seats
from protocol.errors import TurnkeepError

logger = logging.getLogger(__name__)

Endpoint = Callable[[Request, Caller], Awaitable[ASGIApp]]
_SECURITY: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",  # addresses hold handles
    "x-frame-options": "DENY",
}


def build(parts: ApiParts) -> "Application":
    """The ASGI application of these parts."""
    return Application(parts)


class Application:
    """Call `drain` when the process is told to stop, and `close` when its last turns have ended."""

    def __init__(self, parts: ApiParts) -> None:
        gate = Gate(parts)
        self._parts = parts
        self._door = Door(parts)
        self._draining = asyncio.Event()
        self._readers = Readers(parts, gate, Seats(parts.limits.readers, parts.operations.meter))
        self._chat = Chat(parts, gate, self._readers)
        self._pages = Pages(parts.pages)
        self._routes = _routes(parts, gate, self._draining)

    def drain(self) -> None:
        """Take no more turns, and abort the streams of durable runs: another process has the rest of them."""
        self._draining.set()
        self._parts.primary.hub.abort_all()

    def close(self) -> None:
        """Abort the streams of runs that lived in this process alone."""
        self._parts.memory.hub.abort_all()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._routes(scope, receive, send)
            return
        answer = _Answer(self._parts, scope, send, shared=self._door.shared_with(scope))
        try:
            await self._answer(scope, receive, answer)
        except Disconnected:
            pass
        except Exception as error:  # noqa: BLE001 - the last place where one can be turned into an answer
            _log(error)
            if not answer.begun:
                await error_response(error)(scope, receive, answer.send)

    async def _answer(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        if (allowed := self._door.preflight(scope)) is not None:
            await Response(status_code=204, headers=allowed)(scope, receive, answer.send)
            return
        scope[SCOPE_KEY] = answer.caller = await self._door.admit(scope)
        route, endpoint = self._endpoint(scope)
        if endpoint is None:
            await self._routes(scope, receive, answer.send)
            return
        answer.route = route
        response = await endpoint(Request(scope, receive), answer.caller)
        if isinstance(response, FrameStream):
            # Only here, and once a stream: nothing may stand between its frames and the server's `send`.
            response.headers |= answer.begin(200)
            await response(scope, receive, answer.direct)
        else:
            await response(scope, receive, answer.send)

    def _endpoint(self, scope: Scope) -> tuple[str, Endpoint | None]:
        match scope["method"], scope["path"].split("/")[1:]:
            case "POST", ["api", "chat"]:
                return "chat", self._post
            case "GET", ["api", "chat", "stream"]:
                return "stream", self._readers.by_run_id
            case "GET", ["api", "chat", name, "stream"]:
                return "stream", lambda request, caller: self._readers.by_name(request, caller, name)
            case "GET" | "HEAD", [*names] if self._pages.has("/".join(names)):
                return "page", self._page
            case _:
                return "", None

    async def _post(self, request: Request, caller: Caller) -> ASGIApp:
        if self._draining.is_set():
            raise TurnkeepError("unavailable", "This process is stopping.")
        return await self._chat.post(request, caller)

    async def _page(self, request: Request, _: Caller) -> ASGIApp:
        return self._pages.answer(request.scope["path"][1:], request.headers)


class _Answer:
    """The beginning of one answer: what all of them carry, and the moment that is measured."""

    def __init__(self, parts: ApiParts, scope: Scope, send: Send, *, shared: Mapping[str, str]) -> None:
        self.caller = Caller(principal=None)
        self.direct = send
        self.route = ""
        self.begun = False
        self._parts = parts
        self._scope = scope
        self._shared = shared
        self._called_ms = parts.clock.monotonic_ms()

    def begin(self, status: int) -> dict[str, str]:
        """Count the answer; the headers it gets from here."""
        self.begun = True
        route = self.route or getattr(self._scope.get("endpoint"), "__name__", "unknown")
        elapsed_ms = self._parts.clock.monotonic_ms() - self._called_ms
        self._parts.operations.meter.answered(route, status, elapsed_ms)
        headers = {**_SECURITY, **self._shared}
        if self.caller.principal is not None and self._keeps_session():
            headers["set-cookie"] = cookie_of(self._parts, self.caller.principal.owner, self._scope["scheme"])
        return headers

    def _keeps_session(self) -> bool:
        path = self._scope["path"]
        if not self.caller.session:
            return False
        renews = path == "/" or (path == "/api/chat" and self._scope["method"] == "POST")
        # Who comes with a resume token stays without a session: next time it would be somebody else's beside that token.
        wanting = self.caller.fresh and self.caller.token is None
        return renews or (wanting and path.startswith("/api/"))

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            extra = self.begin(message["status"]).items()
            added = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in extra]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await self.direct(message)


def _log(error: Exception) -> None:
    if not isinstance(error, TurnkeepError):
        # Without its text, which may quote what a person wrote.
        last = traceback.extract_tb(error.__traceback__)[-1]
        logger.error("a request raised %s in %s, line %s", type(error).__qualname__, last.name, last.lineno)


def _routes(parts: ApiParts, gate: Gate, draining: asyncio.Event) -> FastAPI:
    application = FastAPI(
        title="Turnkeep",
        version="1",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False},
        openapi_url=None,
    )
    rooms = (
        stream_routes(),
        run_routes(parts, gate),
        input_routes(parts, gate),
        conversation_routes(parts, gate),
        file_routes(parts),
        assistant_routes(parts),
        health_routes(parts, draining),
        internal_routes(parts),
        operator_routes(parts, gate),
        spend_routes(parts),
    )
    for room in rooms:
        application.include_router(room)
    routes = [route for room in rooms for route in room.routes if isinstance(route, APIRoute)]
    application.add_route("/openapi.json", described(routes))

    async def answer_error(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            # The framework names the methods of the first route of this address, which may have several.
            taken = {
                method
                for route in routes
                if route.path_regex.match(request.scope["path"])
                for method in route.methods or ()
            }
            error = HTTPException(error.status_code, headers={"allow": ", ".join(sorted(taken))})
        return error_response(error)

    for kind in (TurnkeepError, HTTPException, RequestValidationError, Exception):
        application.add_exception_handler(kind, answer_error)
    return application
