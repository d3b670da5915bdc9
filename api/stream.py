"""A run as a response: the finished bytes of its frames, forwarded.

Raw ASGI, straight on the server's `send`: each layer in between (a framework's response, its middleware) costs as much per
frame as everything here together.

Rules
 - The connection opens at once and is held open: a comment goes out whenever nothing else did for a while.
 - A slow client holds up its own stream and nothing else: `send` waits for the socket, and nothing is queued for it.
 - `receive` is watched, because the server drops what is sent to a client that left without saying so. A client that left
   ends its stream and never its run.
 - Only `finish` ends a stream cleanly, and a reader that leaves. In every other case (the process drains, the log got lost, what let
   the reader in has expired) the response is left
   incomplete, and the server then closes the connection without the last chunk: to some clients a clean end without
   `finish` is success, and they would not come back.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from starlette.types import Receive, Scope, Send

from api.leaving import Left
from api.ports import Meter
from frames.projection import Projection
from frames.sse import DONE, HEARTBEAT, OPEN
from frames.viewer import Aborted
from protocol.errors import TurnkeepError

HEADERS: Final = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",  # no-transform: a compressing proxy would hold frames back
    "x-accel-buffering": "no",
    "x-vercel-ai-ui-message-stream": "v1",
}


@asynccontextmanager
async def while_connected(receive: Receive) -> AsyncIterator[None]:
    """Ends its body where it stands when the client leaves, and raises nothing for that."""
    stay = asyncio.timeout(None)
    try:
        async with stay:
            watch = asyncio.create_task(_watch(receive, stay))
            try:
                yield
            finally:
                watch.cancel()
    except TimeoutError:
        if not stay.expired():
            raise


async def _watch(receive: Receive, stay: asyncio.Timeout) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    stay.reschedule(asyncio.get_running_loop().time())


class Seats:
    """How many streams may be open in this process. Past it a client is told at once to come back."""

    def __init__(self, most: int, meter: Meter) -> None:
        self._most = most
        self._meter = meter
        self.taken = 0

    def require_free(self) -> None:
        """Raises TurnkeepError: `unavailable`."""
        if self.taken >= self._most:
            raise TurnkeepError("unavailable", "Too many streams are open here.")

    def change(self, by: int) -> None:
        self.taken += by
        self._meter.readers(self.taken)


class FrameReader(Protocol):
    """What a response reads: a viewer of a log, or what stands in for one. Of the shape of `frames.viewer.Viewer`."""

    @property
    def ended(self) -> bool: ...

    async def next(self, timeout: float) -> bytes | None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """`heartbeat_seconds` of silence give a comment. `seconds`: how long the reader is let in, None without an end."""

    heartbeat_seconds: float
    seconds: float | None = None


class FrameStream:
    """The response that forwards one reader's frames."""

    def __init__(
        self,
        reader: FrameReader,
        projection: Projection,
        headers: Mapping[str, str],
        *,
        seats: Seats,
        pace: Pace,
    ) -> None:
        self.headers = {**HEADERS, **headers}
        self._reader = reader
        self._projection = projection
        self._seats = seats
        self._pace = pace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._seats.change(+1)
        try:
            async with while_connected(receive), asyncio.timeout(self._pace.seconds):
                await self._forward(send)
        except Left:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (Aborted, TimeoutError, TurnkeepError):
            # Returned from without an end: the server aborts the connection. Why is told to whoever comes back: a key or
            # token that has expired meanwhile is refused by name, and a fresh one goes on at the same index.
            pass
        finally:
            self._seats.change(-1)
            self._reader.close()

    async def _forward(self, send: Send) -> None:
        head = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self.headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": OPEN, "more_body": True})
        reader = self._reader
        while not reader.ended:
            chunk = await reader.next(self._pace.heartbeat_seconds)
            if chunk or not reader.ended:
                body = self._projection(chunk) if chunk else HEARTBEAT
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": DONE, "more_body": False})
