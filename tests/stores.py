"""The run stores that contract tests run over, each in a world that can let time pass."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol, TypeVar, cast

import pytest

from checkpoints.budget import Budget
from checkpoints.memory import MemoryRunStore
from checkpoints.port import Append, Claimed, ClaimRequest, Order, Refusal, Refused, RunStore
from checkpoints.redis import RedisRunStore
from frames.port import FrameSource
from frames.redis import RedisFrameSource
from protocol.errors import StoreUnavailable
from protocol.log import Page
from resp.address import Address
from resp.client import Client
from resp.connection import Bounds
from resp.keys import Keys
from resp.push import PushConnection
from tests.servers import Server

YEAR_MS = 366 * 24 * 3600 * 1000
FIRST = Order(1, 0, 0)

PATIENT = Bounds(connect=10, command=10, silence=20)  # a busy machine is no fault of the store's

Reply = TypeVar("Reply")


@dataclass
class ManualClock:
    """A clock that stands still until a test moves it."""

    at_ms: int = 1_000_000

    def now_ms(self) -> int:
        return self.at_ms

    def monotonic_ms(self) -> int:
        return self.at_ms


class Remains(Protocol):
    """Names what is stored of a run, and whether it would go away by itself."""

    async def __call__(self, run_id: str) -> dict[str, bool]: ...


@dataclass
class World:
    """A store, its readers' side, and time."""

    store: RunStore
    source: FrameSource
    limited: Callable[[int, int], RunStore]  # a store with other limits: the log's, and the reserve in it
    remains: Remains
    pass_ms: Callable[[int], None]  # moves the clock where it is ours; a server's moves by itself
    runs: Iterator[str] = field(default_factory=lambda: (f"run{number}" for number in count(1)))
    owners: Iterator[str] = field(default_factory=lambda: (f"owner{number}" for number in count(1)))

    def with_budget(self, most: int, reserve: int) -> "World":
        """The same world with logs of so many bytes."""
        return replace(self, store=self.limited(most, reserve))

    def request(self, order: Order = FIRST, *, owner: str = "", lease_ms: int = YEAR_MS, most: int = 5) -> ClaimRequest:
        """A claim by somebody new, for good unless said otherwise."""
        owner = owner or next(self.owners)
        return ClaimRequest(order=order, owner=owner, mode="inline", lease_ms=lease_ms, max_deaths=most)

    async def opened(self) -> str:
        """A fresh run."""
        run_id = next(self.runs)
        assert await self.store.open(run_id, b"request")
        return run_id

    async def claim(self, run_id: str, request: ClaimRequest) -> Claimed | Refused:
        """Claim as soon as nobody holds a lease: pytest's timeout bounds it."""
        while True:
            reply = await self.store.claim(run_id, request)
            if not isinstance(reply, Refused) or reply.why is not Refusal.BUSY:
                return reply
            self.pass_ms(reply.wait_ms)

    async def won(self, run_id: str, request: ClaimRequest | None = None) -> Claimed:
        """A claim that must win."""
        reply = await self.claim(run_id, request or self.request())
        assert isinstance(reply, Claimed)
        return reply

    async def running(self) -> Claimed:
        """A fresh run, claimed."""
        return await self.won(await self.opened())

    async def page(self, run_id: str, start: int, max_bytes: int = 1 << 20) -> Page:
        page = await self.store.read(run_id, start, max_bytes)
        assert page is not None
        return page


def frames(
    start: int, *texts: bytes, delta: bytes | None = None, ledger: dict[str, bytes] | None = None, reserve: int = 0
) -> Append:
    """An append of one frame a text."""
    return Append(
        start=start, count=len(texts), payload=b"".join(texts), delta=delta, ledger=ledger or {}, reserve=reserve
    )


def memory_world() -> World:
    clock = ManualClock()
    store = MemoryRunStore(clock)

    def pass_ms(milliseconds: int) -> None:
        clock.at_ms += milliseconds

    async def remains(run_id: str) -> dict[str, bool]:
        clock.at_ms += YEAR_MS
        return {} if await store.view(run_id) is None else {run_id: False}

    def limited(most: int, reserve: int) -> RunStore:
        return MemoryRunStore(clock, budget=Budget(log_bytes=most, reserve_bytes=reserve))

    return World(store=store, source=store, limited=limited, remains=remains, pass_ms=pass_ms)


def redis_world(client: Client, push: PushConnection, keys: Keys) -> World:
    async def remains(run_id: str) -> dict[str, bool]:
        names = await client.execute("KEYS", f"{keys.prefix}{{{run_id}}}*")
        return {name.decode(): await client.execute("PTTL", name) != -1 for name in names}

    def limited(most: int, reserve: int) -> RunStore:
        return RedisRunStore(client, push, keys=keys, budget=Budget(log_bytes=most, reserve_bytes=reserve))

    return World(
        store=RedisRunStore(client, push, keys=keys),
        source=RedisFrameSource(client, push, keys=keys),
        limited=limited,
        remains=remains,
        pass_ms=lambda _: None,
    )


@pytest.fixture(params=["memory", "valkey", "redis7"])
async def world(request: pytest.FixtureRequest, keys: Keys) -> AsyncIterator[World]:
    """Every implementation in turn."""
    if request.param == "memory":
        yield memory_world()
        return
    server = cast("Server", request.getfixturevalue(request.param))
    async with world_at(server.address, keys) as found:
        yield found


@asynccontextmanager
async def world_at(address: Address, keys: Keys, *, bounds: Bounds = PATIENT) -> AsyncIterator[World]:
    """A world of its own at a server, or at a proxy in front of it."""
    client, push = Client(address, bounds=bounds), PushConnection(address, bounds=bounds, ping_seconds=0.05)
    try:
        yield redis_world(client, push, keys)
    finally:
        await push.close()
        await client.close()


@asynccontextmanager
async def client_at(address: Address, *, bounds: Bounds = PATIENT) -> AsyncIterator[Client]:
    """A client of its own."""
    client = Client(address, bounds=bounds)
    try:
        yield client
    finally:
        await client.close()


async def until_available(call: Callable[[], Awaitable[Reply]]) -> Reply:
    """Try until the store answers, as a runner does: pytest's timeout bounds it."""
    while True:
        try:
            return await call()
        except StoreUnavailable:
            await asyncio.sleep(0)
