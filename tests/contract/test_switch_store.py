"""The switch over every place it can be kept in."""

from collections.abc import AsyncIterator
from typing import cast

import pytest

from dispatch.redis import RedisSwitch
from dispatch.switch import OFF, ON
from dispatch.watch import MemorySwitch, SwitchStore, SwitchWatch
from resp.client import Client
from resp.keys import Keys
from tests.servers import Server


@pytest.fixture(params=["memory", "valkey", "redis7"])
async def switch(request: pytest.FixtureRequest, keys: Keys) -> AsyncIterator[SwitchStore]:
    """Every implementation in turn, with nothing stored."""
    if request.param == "memory":
        yield MemorySwitch()
        return
    client = Client(cast("Server", request.getfixturevalue(request.param)).address)
    yield RedisSwitch(client, keys)
    await client.close()


async def test_the_value_set_last_is_the_one_that_is_got(switch: SwitchStore) -> None:
    """REQ-F2"""
    seen = [await switch.get()]
    for value in ("on", "off", '{"percent": 10, "allow": ["Zoë"]}'):
        await switch.set(value)
        seen.append(await switch.get())

    assert seen == [None, "on", "off", '{"percent": 10, "allow": ["Zoë"]}']


async def test_an_operator_may_set_it_by_hand(valkey: Server, keys: Keys) -> None:
    """FR80: with redis-cli, in an emergency, and also wrongly."""
    client = Client(valkey.address)
    watch = SwitchWatch(RedisSwitch(client, keys), default=ON)
    seen = []
    for command in (("SET", "OFF "), ("SET", b"\xff"), ("DEL",), ("HSET", "off", "1")):
        await client.execute(command[0], keys.switch, *command[1:])
        await watch.refresh()
        seen.append(watch.current)
    await client.close()

    assert seen == [OFF, OFF, ON, ON]


async def test_a_server_that_is_away_is_as_nothing_new(valkey: Server, keys: Keys) -> None:
    """REQ-F2"""
    client = Client(valkey.address)
    switch = RedisSwitch(client, keys)
    watch = SwitchWatch(switch, default=ON)
    await switch.set("off")
    await watch.refresh()
    await client.close()
    await watch.refresh()

    assert watch.current == OFF
