"""How often somebody may ask: per address, per owner, over processes, and while the shared store is away."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from limits import parse
from limits.aio.storage import MemoryStorage, Storage

from api.ports import Quota
from api.rates import Rates, address_of
from api.redis import RedisWindows
from protocol.errors import StoreUnavailable, TurnkeepError
from resp.address import Address
from resp.client import Client
from resp.keys import Keys
from tests.contract.http_callers import admitting, callers
from tests.contract.http_house import Change, error, reading, running, saying, served
from tests.servers import Server

MINUTE = parse("3/minute")


@pytest.fixture(params=["memory", "valkey", "redis7"])
async def shared(request: pytest.FixtureRequest) -> AsyncIterator[Storage]:
    if request.param == "memory":
        yield MemoryStorage()
        return
    server: Server = request.getfixturevalue(request.param)
    client = Client(server.address)
    await client.execute("FLUSHALL")
    yield RedisWindows(client, Keys())
    await client.close()


async def outcome(rates: Rates, who: str = "ann") -> str:
    try:
        return f"{await rates.take(MINUTE, 'owner', who)} left"
    except TurnkeepError as refusal:
        return refusal.kind


async def test_so_many_are_let_through_and_the_next_is_told_when_to_come(shared: Storage) -> None:
    """REQ-Q1, REQ-Q8"""
    rates = Rates(shared)

    assert [await outcome(rates) for _ in range(5)] == ["2 left", "1 left", "0 left", "rate_limited", "rate_limited"]
    assert await outcome(rates, "ben") == "2 left"
    assert await rates.take(None, "owner", "ann") is None
    with pytest.raises(TurnkeepError) as raised:
        await rates.take(MINUTE, "owner", "ann")
    assert 1 <= int(raised.value.details["retry_after"]) <= 60


async def test_processes_count_together_and_no_race_passes(shared: Storage) -> None:
    """FR62"""
    processes = [Rates(shared, seconds=5) for _ in range(4)]

    found = await asyncio.gather(*(outcome(rates) for rates in processes * 5))

    assert found.count("rate_limited") == 17


async def test_while_the_store_is_away_each_process_counts_by_itself() -> None:
    """REQ-V6 REQ-Z20: open, and not without a bound."""
    client = Client(Address(path="/nowhere/valkey.sock"))
    rates = Rates(RedisWindows(client, Keys()))

    assert [await outcome(rates) for _ in range(4)] == ["2 left", "1 left", "0 left", "rate_limited"]
    with pytest.raises(StoreUnavailable):
        await client.execute("PING")
    await client.close()


def bounded(**quota: Any) -> Change:
    return lambda parts: replace(admitting()(parts), quota=Quota(**quota))


async def test_an_address_is_bounded_before_anybody_asks_who_it_is() -> None:
    """REQ-Q1, [E4]: wrong keys count, so that none can be guessed."""
    async with running(bounded(address=MINUTE)) as house:
        client = await house.client(authorization="Bearer wrong")
        answers = [await client.get("/api/conversations") for _ in range(4)]
        health = await client.get("/healthz")

    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    refusal = error(answers[-1])
    assert (refusal["kind"], refusal["retryable"]) == ("rate_limited", True)
    assert answers[-1].headers["retry-after"] == refusal["retry_after"]
    assert health.status_code == 200


async def test_an_address_is_what_the_nearest_trusted_proxy_saw() -> None:
    """REQ-Q1: whatever a client writes into the header before that."""
    async with (
        running(bounded(address=MINUTE)) as house,
        served(house.application, None) as url,
        httpx2.AsyncClient(base_url=url) as client,
    ):

        async def status(forwarded: str) -> int:
            return (await client.get("/api/assistant", headers={"x-forwarded-for": forwarded})).status_code

        statuses = [await status(f"10.0.0.{number}, 9.9.9.9") for number in range(4)]
        other = await status("9.9.9.9, 9.9.9.8")

    assert (statuses, other) == ([200, 200, 200, 429], 200)


async def test_an_owner_is_bounded_whatever_the_address_and_a_turn_knows_what_is_left() -> None:
    """REQ-Q8, REQ-A12: nothing is written for a turn that is refused."""
    async with running(bounded(owner=MINUTE)) as house:
        house.model.release()
        owner, foreign = [(await callers(house))[who] for who in ("owner", "foreign")]
        answers = [await owner.post("/api/chat?stream=0", json={"message": "hi"}) for _ in range(4)]
        other = await foreign.post("/api/chat?stream=0", json={"message": "hi"})
        listed = (await owner.get("/api/conversations")).json()["conversations"]

    assert [answer.status_code for answer in (*answers, other)] == [200, 200, 200, 429, 200]
    assert [request.quota_left for request in house.dispatch.requests] == [2, 1, 0, 2]
    assert len(listed) == 1


async def test_an_owner_has_so_many_turns_under_way() -> None:
    """REQ-Q8, FR62: also where they are asked for at once."""
    async with running(bounded(active=2)) as house:
        house.plays(saying("one", "two"), hold=1)
        owner, foreign = [(await callers(house))[who] for who in ("owner", "foreign")]

        async def ask(number: int) -> int:
            body = {"message": "hi", "conversation_id": f"c{number}"}
            async with reading(owner, "POST", "/api/chat", json=body) as stream:
                return stream.response.status_code

        statuses = sorted(await asyncio.gather(*(ask(number) for number in range(6))))
        async with reading(foreign, "POST", "/api/chat", json={"message": "hi"}) as stream:
            assert stream.response.status_code == 200
        house.model.release()
        await house.dispatch.settled()
        assert await ask(7) == 200

    assert statuses == [200, 200, 429, 429, 429, 429]


@pytest.mark.parametrize(
    ("client", "address"),
    [
        (("10.1.2.3", 80), "10.1.2.3"),
        (("2001:db8:1:2:3:4:5:6", 80), "2001:db8:1:2::/64"),
        (("::ffff:10.1.2.3", 80), "10.1.2.3"),
        (None, "local"),
        (("", 0), "local"),
        (("unix:", 0), "local"),
    ],
)
def test_an_address_of_ipv6_is_its_network(client: object, address: str) -> None:
    assert address_of({"client": client}) == address
