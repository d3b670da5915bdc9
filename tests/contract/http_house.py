"""The API over real uvicorn on a unix socket, with the real runner, stores in memory and a model that says what a test wants.

`house.model.hold(n)` makes the model wait before its delta n + 1 until `release()`: a test then knows what is in the log.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from api.application import Application, build
from api.ports import ApiParts, Limits, Operations, Place, Tokens
from checkpoints.memory import MemoryRunStore
from checkpoints.port import RunStore
from frames.hub import Hub
from frames.tokens import KeyRing, Sessions
from protocol.json import Json, JsonObject
from providers.script import Script, parse_script
from records.records import Records
from records.values import Key
from tests.contract.bench_dispatch import BenchDispatch
from tests.rig import Rig, StillClock

RING = KeyRing([b"a secret that only this test knows"])
TOKENS = Tokens.signed_by(RING)


def script(*calls: JsonObject) -> Script:
    """A turn of these model calls, with a gap between all deltas."""
    lines = [{"v": 1, "name": "test", "input": "hi"}, *({"gap_ms": 1, **call} for call in calls)]
    return parse_script("\n".join(json.dumps(line) for line in lines))


def saying(*deltas: str) -> Script:
    """A turn that says this."""
    texts: list[Json] = [{"type": "text", "text": delta} for delta in deltas]
    return script({"events": [*texts, {"type": "stop"}]})


@dataclass
class Model:
    """Paces the model: it stops before a gap that is held."""

    gaps: int = 0
    _held: int = 1_000_000
    _free: asyncio.Event = field(default_factory=asyncio.Event)
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def hold(self, gap: int) -> None:
        self._held = gap

    def release(self) -> None:
        self._free.set()

    async def __call__(self, _: float) -> None:
        self.gaps += 1
        if self.gaps >= self._held:
            self.reached.set()
            await self._free.wait()


@dataclass(kw_only=True)
class House:
    """The running API and everything behind it."""

    application: Application
    parts: ApiParts
    rig: Rig
    model: Model
    dispatch: BenchDispatch
    socket: str
    clients: AsyncExitStack

    async def client(self, **headers: str) -> httpx2.AsyncClient:
        """A browser of its own: nobody until its first answer."""
        transport = httpx2.AsyncHTTPTransport(uds=self.socket)
        client = httpx2.AsyncClient(transport=transport, base_url="http://turnkeep.test", headers=headers)
        return await self.clients.enter_async_context(client)

    @asynccontextmanager
    async def wire(self, request: bytes) -> AsyncIterator[asyncio.StreamReader]:
        """A connection below any client's level, with these bytes sent."""
        reader, writer = await asyncio.open_unix_connection(self.socket)
        writer.write(request)
        try:
            yield reader
        finally:
            writer.close()

    def key(self, client: httpx2.AsyncClient, conversation_id: str) -> Key:
        """A conversation of this browser."""
        owner = self.parts.sessions.open(client.cookies["turnkeep_session"])
        assert owner is not None
        return Key(owner=owner, conversation_id=conversation_id)

    def plays(self, played: Script, *, hold: int | None = None) -> None:
        """What the model says from now on, and where it stops to wait."""
        self.dispatch.script = played
        self.rig.pace = self.model
        if hold is not None:
            self.model.hold(hold)


Change = Callable[[ApiParts], ApiParts]


@asynccontextmanager
async def running(change: Change = lambda parts: parts) -> AsyncIterator[House]:
    """A house with changed parts, up as long as the context."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="turnkeep-"))  # short: a socket's path has a limit
        records = await stack.enter_async_context(await Records.in_memory())
        clock = StillClock()
        store, memory = MemoryRunStore(clock), MemoryRunStore(clock)
        hubs = Hub(store, round_seconds=0.02), Hub(memory, round_seconds=0.02)
        rig = Rig(records=records, clock=clock, store=store)
        dispatch = BenchDispatch(rig, Rig(records=records, clock=clock, store=memory), saying("Hello", ", ", "world"))
        ids = count(1)
        parts = change(
            ApiParts(
                records=records,
                primary=Place(store=store, hub=hubs[0], durable=True),
                memory=Place(store=memory, hub=hubs[1], durable=False),
                dispatch=dispatch,
                sessions=Sessions(RING),
                tokens=TOKENS,
                assistants={"bench": rig.assistant},
                default_assistant="bench",
                clock=clock,
                new_id=lambda: f"00000000-0000-4000-8000-{next(ids):012x}",
                model_of=lambda _: "scripted",
                random_bytes=lambda size: next(ids).to_bytes(size, "big"),
            )
        )
        application = build(parts)
        path = f"{folder}/api.sock"
        await stack.enter_async_context(served(application, path))
        clients = await stack.enter_async_context(AsyncExitStack())
        model = Model()
        yield House(
            application=application, parts=parts, rig=rig, model=model, dispatch=dispatch, socket=path, clients=clients
        )
        application.drain()
        application.close()
        await dispatch.close()
        for hub in hubs:
            await hub.close()


@asynccontextmanager
async def served(application: Application, path: str | None) -> AsyncIterator[str]:
    """Serve with uvicorn's own protocol, without its signals and its waiting: on a unix socket, or on a free port.

    Gives the address.
    """
    config = uvicorn.Config(application, lifespan="off", log_config=None, access_log=False)
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()

    def protocol() -> HttpToolsProtocol:
        return HttpToolsProtocol(config, state, {})

    if path is None:
        server = await loop.create_server(protocol, "127.0.0.1", 0)
    else:
        server = await loop.create_unix_server(protocol, path=path)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}" if path is None else path
    finally:
        server.close()
        for connection in list(state.connections):
            connection.shutdown()
        await asyncio.gather(*state.tasks, return_exceptions=True)


def with_limits(**limits: int) -> Change:
    return lambda parts: replace(parts, limits=Limits(**limits))


def with_operations(**operations: Any) -> Change:
    return lambda parts: replace(parts, operations=Operations(**operations))


def with_store(store: RunStore) -> Change:
    """The primary place is this store, behind the same hub."""
    return lambda parts: replace(parts, primary=replace(parts.primary, store=store))


def pieces(body: bytes) -> list[bytes]:
    """The frames of a stream, as bytes; comments and [DONE] are none."""
    return [piece + b"\n\n" for piece in body.split(b"\n\n") if piece.startswith(b"id: ")]


def frame(piece: bytes) -> dict[str, Any]:
    """The frame in a piece."""
    found: dict[str, Any] = json.loads(piece.rstrip(b"\n").rsplit(b"data: ", 1)[1])
    return found


def types(body: bytes) -> list[str]:
    return [frame(piece)["type"] for piece in pieces(body)]


def error(response: httpx2.Response) -> dict[str, Any]:
    """The error of an answer, seen to have the one shape."""
    body: dict[str, Any] = response.json()
    assert set(body) == {"error"}
    assert {"kind", "message", "retryable"} <= set(body["error"])
    return dict(body["error"])


@asynccontextmanager
async def reading(client: httpx2.AsyncClient, method: str, url: str, **request: Any) -> AsyncIterator["Reading"]:
    """An open stream."""
    async with client.stream(method, url, **request) as response:
        yield Reading(response)


class Reading:
    """A stream that is read piece by piece."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.headers = response.headers
        self._raw = response.aiter_raw()
        self.body = b""

    async def until(self, wanted: bytes) -> bytes:
        """Read on until this was seen; everything so far."""
        while wanted not in self.body:
            self.body += await anext(self._raw)
        return self.body

    async def rest(self) -> bytes:
        """Everything, to the end."""
        async for piece in self._raw:
            self.body += piece
        return self.body
