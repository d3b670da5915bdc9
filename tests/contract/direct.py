"""Requests straight into the application, without a server in between: thousands a second, and whatever bytes one likes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message

Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`leaves`: the client is gone as soon as its body was read."""

    method: str
    path: str
    query: bytes = b""
    headers: Sequence[Header] = ()
    body: bytes = b""
    leaves: bool = False


@dataclass(slots=True)
class Answer:
    """`status` 0: nothing was answered. `whole` is false where the answer was cut."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    whole: bool = False

    def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
        else:
            self.body += message.get("body", b"")
            self.whole = not message.get("more_body", False)


async def ask(application: ASGIApp, request: Request) -> Answer:
    """The answer to one request. Raises whatever the application does."""
    answer, pieces = Answer(), iter([request.body])

    async def receive() -> Message:
        for piece in pieces:
            return {"type": "http.request", "body": piece, "more_body": False}
        if not request.leaves:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        answer.take(message)

    path = request.path.encode("utf-8", "replace")  # what no server makes of any bytes, a lone surrogate, is none here
    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request.method, "scheme": "http",
        "path": path.decode(), "raw_path": path, "query_string": request.query,
        "root_path": "", "headers": [(b"host", b"turnkeep.test"), *request.headers], "client": ("10.0.0.1", 1), "server": ("turnkeep.test", 80),
    }  # fmt: skip
    await application(scope, receive, send)
    return answer
