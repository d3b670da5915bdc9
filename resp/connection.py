"""One RESP3 connection: commands out in order, replies in by the same order, pushes to a callback.

Rules
- A reply belongs to the oldest command without one. A command whose caller was cancelled or timed out keeps its place in
  the queue until its reply has passed: nobody else may receive it (FR31).
- What is sent in one turn of the event loop leaves in one write.
- Nothing is ever sent twice. With the connection every command without a reply fails: whether it was executed is unknown.

It does not reconnect: that is `resp/client.py` and `resp/push.py`.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast

import hiredis

from protocol.errors import StoreUnavailable
from resp.address import Address
from resp.errors import ScriptMissing, error_of
from resp.patience import while_heard
from resp.script import Script

Part: TypeAlias = str | bytes | int
Reply: TypeAlias = Any  # what a command answers is known only where it is sent
Push: TypeAlias = list[Any]

_NOTHING = object()  # False and None are replies
_SUBSCRIBING = frozenset({"SSUBSCRIBE", "SUNSUBSCRIBE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long things may take, in seconds, and how many commands may wait for replies."""

    connect: float = 0.25  # a new turn that finds the store away must be answered from memory before anybody notices
    prompt: float = 0.25  # the same where a connection stands, and nothing comes through it any more
    command: float = 1.0  # half a lease: a lost renewal can still be repeated in time
    silence: float = 4.0  # no byte for so long while a reply is due: the peer is gone, though TCP does not say so
    in_flight: int = 16_384  # each run has one or two; more means that callers do not wait for their replies


class _Waiter(NamedTuple):
    future: asyncio.Future[Reply]
    deadline: float
    acknowledged_by: tuple[bytes, bytes] | None  # kind and channel of the push that stands in for the reply


def _ignore(_: Push) -> None:
    """Pushes of a connection that subscribed to nothing."""


class Connection(asyncio.Protocol):
    """An open connection. Made by `connect`."""

    def __init__(self, bounds: Bounds, on_push: Callable[[Push], None] = _ignore) -> None:
        self._loop = asyncio.get_running_loop()
        self._bounds = bounds
        self._on_push = on_push
        self._reader = hiredis.Reader(replyError=error_of, notEnoughData=_NOTHING)
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[_Waiter] = deque()
        self._outgoing: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._last_byte = 0.0
        self.lost: asyncio.Future[None] = self._loop.create_future()

    def send(self, *parts: Part) -> asyncio.Future[Reply]:
        """Queue a command in the order of calls; the future holds its reply.

        The future raises StoreUnavailable where the reply did not come, ReplyError where the server refused.

        Raises:
            StoreUnavailable: The connection is lost or too many commands wait. Nothing was sent.
        """
        if self._transport is None:
            raise StoreUnavailable
        if len(self._waiting) >= self._bounds.in_flight:
            raise StoreUnavailable("Too many commands wait for the run store.")
        if not self._outgoing:
            self._loop.call_soon(self._flush)
        self._outgoing.append(hiredis.pack_command(parts))  # type: ignore[arg-type] # its stub allows tuples of one only
        future: asyncio.Future[Reply] = self._loop.create_future()
        acknowledged_by = None
        if parts[0] in _SUBSCRIBING:
            acknowledged_by = (_bytes(parts[0]).lower(), _bytes(parts[1]))
        self._waiting.append(_Waiter(future, self._loop.time() + self._bounds.command, acknowledged_by))
        if self._timer is None:
            self._timer = self._loop.call_later(self._bounds.command, self._expire)
        return future

    async def run(self, script: Script, keys: Sequence[str], *arguments: Part) -> Reply:
        """Run a script and return its reply. Raises as `send` and its future."""
        try:
            return await self.send("EVALSHA", script.sha, len(keys), *keys, *arguments)
        except ScriptMissing:  # nothing was executed, so this is no blind retry
            return await self.send("EVAL", script.source, len(keys), *keys, *arguments)

    async def prompt(self, script: Script, keys: Sequence[str], *arguments: Part) -> Reply:
        """As `run`, given up as soon as the server is silent: for somebody who can do without, and waits.

        Raises StoreUnavailable, too, where no byte came for `bounds.prompt` though this process could have read it.
        """
        try:
            return await while_heard(self.run(script, keys, *arguments), self._bounds.prompt, lambda: self._last_byte)
        except TimeoutError as error:
            raise StoreUnavailable("The run store is silent.") from error

    def abort(self) -> None:
        """Drop the connection at once; what waits fails."""
        if self._transport is not None:
            self._transport.abort()
            self.connection_lost(None)  # now, not with the next turn of the loop: nobody may send into it any more

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # asyncio has set TCP_NODELAY; our writes are whole commands, waiting for more would only cost time.
        self._transport = cast("asyncio.Transport", transport)
        self._last_byte = self._loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._outgoing.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            _fail(self._waiting.popleft().future)
        if not self.lost.done():
            self.lost.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._last_byte = self._loop.time()
        self._reader.feed(data)
        try:
            while (reply := self._reader.gets()) is not _NOTHING:
                self._take(reply)
        except hiredis.ProtocolError:
            self.abort()

    def _take(self, reply: Reply) -> None:
        if isinstance(reply, hiredis.PushNotification) and not self._acknowledges(reply):
            self._on_push(reply)
        elif not self._waiting:
            self.abort()  # a reply to no command: the stream and our queue disagree, nothing after it can be trusted
        else:
            future = self._waiting.popleft().future
            if future.done():  # cancelled or timed out: dropped here, so that it is nobody else's (FR31)
                return
            if isinstance(reply, Exception):
                future.set_exception(reply)
            else:
                future.set_result(reply)

    def _acknowledges(self, push: Push) -> bool:
        return bool(self._waiting) and self._waiting[0].acknowledged_by == (push[0], push[1])

    def _flush(self) -> None:
        if self._transport is not None:
            self._transport.write(b"".join(self._outgoing))
        self._outgoing.clear()

    def _expire(self) -> None:
        self._timer = None
        if not self._waiting:
            return
        now = self._loop.time()
        gone = max(self._last_byte, self._waiting[0].deadline - self._bounds.command) + self._bounds.silence
        if gone <= now:
            self.abort()
            return
        wake = min(gone, now + self._bounds.command)  # no later: what is sent meanwhile sets no timer of its own
        for waiter in self._waiting:
            if waiter.deadline > now:
                # A little late, so that a thousand deadlines in a row are one walk of the queue and not a thousand.
                wake = min(wake, max(waiter.deadline, now + self._bounds.command / 8))
                break
            _fail(waiter.future)
        self._timer = self._loop.call_at(wake, self._expire)


def _fail(future: asyncio.Future[Reply]) -> None:
    if not future.done():
        future.set_exception(StoreUnavailable())


def _bytes(part: Part) -> bytes:
    return part if isinstance(part, bytes) else str(part).encode()


async def connect(address: Address, *, bounds: Bounds, on_push: Callable[[Push], None] = _ignore) -> Connection:
    """Open a connection, log in and select the database, within `bounds.connect`.

    Raises:
        StoreUnavailable: It did not come up in time, or the server will not have us.
        ReplyError: The server refuses the database or does not speak RESP3.
    """
    connection = Connection(bounds, on_push)
    try:
        await while_heard(_open(connection, address), bounds.connect)
    except BaseException as error:
        # Here and not in there: a caller that is cancelled as it comes up never hears that it did.
        connection.abort()
        if isinstance(error, OSError):  # it did not come up in time, or not at all
            raise StoreUnavailable("The run store cannot be reached.") from error
        raise
    return connection


async def _open(connection: Connection, address: Address) -> None:
    loop = asyncio.get_running_loop()
    if address.path:
        await loop.create_unix_connection(lambda: connection, address.path)
    else:
        tls = ssl.create_default_context() if address.tls else None
        await loop.create_connection(lambda: connection, address.host, address.port, ssl=tls)
    login = ("AUTH", address.username, address.password) if address.password else ()
    await connection.send("HELLO", 3, *login)
    if address.database:
        await connection.send("SELECT", address.database)
