"""The push connection of a process: one, whatever the number of channels listened to.

Rules
- After `subscribe` returned, every later message of the channel reaches the listener, or the `on_lost` callbacks are called
  once pushes flow again: then something may have been missed.
- It comes back by itself until it is closed, and subscribes again to all that is listened to.
- Listeners and callbacks are called in the loop, do not block and do not raise.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from protocol.errors import StoreUnavailable
from resp.address import Address
from resp.client import no_jitter, pause_after
from resp.connection import Bounds, Connection, Push, connect
from resp.errors import ReplyError

_UNBOUNDED = 1 << 30  # in flight: after a reconnect all subscriptions are asked for at once

Message = Callable[[bytes], None]


class PushConnection:
    """Subscriptions to sharded channels, one listener each. All calls from one event loop."""

    def __init__(
        self,
        address: Address,
        *,
        bounds: Bounds | None = None,
        jitter: Callable[[], float] = no_jitter,
        ping_seconds: float = 5.0,
    ) -> None:
        """`ping_seconds`: a connection that died silently is found after that and `bounds.silence`."""
        self._address = address
        self._bounds = replace(bounds or Bounds(), in_flight=_UNBOUNDED)
        self._jitter = jitter
        self._ping_seconds = ping_seconds
        self._listeners: dict[bytes, Message] = {}
        self._lost: list[Callable[[], None]] = []
        self._connection: Connection | None = None
        self._tried = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def subscribe(self, channel: str, listener: Message) -> None:
        """Listen to a channel, instead of an earlier listener. While the server is away it returns and `on_lost` follows."""
        self._listeners[channel.encode()] = listener
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._keep())
        connection = self._connection
        if connection is None:
            await self._tried.wait()  # the first try subscribes to this, too; later ones end in `on_lost`
            return
        try:
            await connection.send("SSUBSCRIBE", channel)
        except StoreUnavailable:
            connection.abort()  # not confirmed: only a fresh start and `on_lost` keep the promise

    async def unsubscribe(self, channel: str) -> None:
        """Listen no more. Nothing is delivered after it was called."""
        if self._listeners.pop(channel.encode(), None) is not None and self._connection is not None:
            with suppress(StoreUnavailable):
                await self._connection.send("SUNSUBSCRIBE", channel)

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Register what to call when messages may have been missed."""
        self._lost.append(callback)

    async def close(self) -> None:
        """Stop listening and coming back."""
        self._listeners.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            await asyncio.sleep(0)  # the transport closes its socket with the next turn of the loop

    async def _keep(self) -> None:
        failures = 0
        try:
            while True:
                try:
                    await self._listen()
                    failures = 0
                except (StoreUnavailable, ReplyError):
                    failures += 1
                self._tried.set()
                await asyncio.sleep(pause_after(failures, self._jitter))
        finally:
            self._tried.set()  # closed: nobody may wait for a try that will not come

    async def _listen(self) -> None:
        connection = await connect(self._address, bounds=self._bounds, on_push=self._dispatch)
        self._connection = connection
        try:
            # No await between setting the connection and this list: who subscribes later sends it himself.
            await asyncio.gather(*[connection.send("SSUBSCRIBE", channel) for channel in self._listeners])
            if self._tried.is_set():
                for callback in self._lost:
                    callback()
            self._tried.set()
            while not connection.lost.done():
                await asyncio.wait([connection.lost], timeout=self._ping_seconds)
                if not connection.lost.done():
                    await connection.send("PING")
        finally:
            self._connection = None
            connection.abort()

    def _dispatch(self, push: Push) -> None:
        kind, channel = push[0], push[1]
        listener = self._listeners.get(channel)
        if listener is None:
            return  # published before the server saw that we left
        if kind == b"smessage":
            listener(push[2])
        elif kind == b"sunsubscribe" and self._connection is not None:
            self._connection.abort()  # the server took the channel away, as when its slot moved: start afresh
