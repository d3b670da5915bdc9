"""Laws O1 to O4 over every outbox."""

from collections.abc import AsyncIterator
from typing import cast

import pytest

from checkpoints.outbox import MemoryOutbox, Outbox
from checkpoints.outbox_redis import RedisOutbox
from resp.keys import Keys
from tests.servers import Server
from tests.stores import client_at


@pytest.fixture(params=["memory", "valkey", "redis7"])
async def outbox(request: pytest.FixtureRequest, keys: Keys) -> AsyncIterator[Outbox]:
    """Every implementation in turn, empty."""
    if request.param == "memory":
        yield MemoryOutbox()
        return
    async with client_at(cast("Server", request.getfixturevalue(request.param)).address) as client:
        yield RedisOutbox(client, keys)


async def test_what_is_kept_is_there_until_it_is_forgotten(outbox: Outbox) -> None:
    """O1, O3, C24"""
    before = await outbox.kept("a")
    await outbox.keep("a", b"\x00seal of a")
    await outbox.keep("a", b"\x00seal of a")
    kept = await outbox.kept("a")
    await outbox.forget("a")
    await outbox.forget("a")

    assert (before, kept, await outbox.kept("a"), await outbox.waiting("", 9)) == (None, b"\x00seal of a", None, ())


async def test_each_kept_run_is_listed_once_page_by_page(outbox: Outbox) -> None:
    """O2, O4"""
    for name in ("c", "a", "d", "b", "a"):
        await outbox.keep(name, name.encode())
    first = await outbox.waiting("", 3)
    await outbox.forget("c")

    assert (first, await outbox.waiting("c", 3), await outbox.size()) == (("a", "b", "c"), ("d",), 3)


async def test_nothing_that_is_kept_expires(valkey: Server, keys: Keys) -> None:
    """O1: the run's log may be gone for days when the records are back."""
    async with client_at(valkey.address) as client:
        await RedisOutbox(client, keys).keep("run", b"seal")
        names = [name.decode() for name in await client.execute("KEYS", f"{keys.prefix}*")]
        expiries = [await client.execute("PTTL", name) for name in names]

    assert (sorted(names), expiries) == (sorted([keys.outbox, keys.unsettled("run")]), [-1, -1])


async def test_a_server_out_of_memory_takes_the_end_of_a_run(valkey: Server, keys: Keys) -> None:
    """C13, C24"""
    async with client_at(valkey.address) as client:
        outbox = RedisOutbox(client, keys)
        await client.execute("CONFIG", "SET", "maxmemory", 1)
        try:
            await outbox.keep("run", b"seal")
            kept = await outbox.kept("run")
            await outbox.forget("run")
        finally:
            await client.execute("CONFIG", "SET", "maxmemory", 0)

        assert (kept, await outbox.size()) == (b"seal", 0)
