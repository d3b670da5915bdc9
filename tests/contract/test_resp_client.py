"""The command connection against real servers: logging in, coming back, and giving up in time."""

import asyncio
import socket
from contextlib import suppress
from dataclasses import replace

import pytest

from protocol.errors import StoreUnavailable
from resp.address import parse_address
from resp.client import Client
from resp.connection import Bounds, Connection, connect
from resp.errors import ReplyError
from resp.keys import Keys
from tests.proxy import played
from tests.servers import Server, running_server
from tests.stores import PATIENT, client_at, until_available


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_an_address_brings_login_and_database(keys: Keys) -> None:
    with running_server("redis") as server:
        async with client_at(server.address) as client:
            await client.execute("ACL", "SETUSER", "app", "on", ">p@ss", "allkeys", "allcommands")
            await client.execute("CONFIG", "SET", "requirepass", "secret")

        async with client_at(parse_address(f"unix://app:p%40ss@{server.address.path}?db=3")) as app:
            await app.execute("SET", keys.switch, "on")
            assert await app.execute("ACL", "WHOAMI") == b"app"
            async with client_at(parse_address(f"unix://:secret@{server.address.path}")) as default:
                found = await default.execute_all(("GET", keys.switch), ("SELECT", 3), ("GET", keys.switch))
        assert found == [None, b"OK", b"on"]


async def test_a_refused_login_and_an_unknown_database_are_told_apart() -> None:
    with running_server("valkey") as server:
        async with client_at(replace(server.address, password="wrong", username="app")) as client:
            with pytest.raises(StoreUnavailable, match="password"):
                await client.execute("PING")
        async with client_at(replace(server.address, database=99)) as client:
            with pytest.raises(ReplyError, match="DB index"):
                await client.execute("PING")


async def test_tcp_is_spoken_as_well(unused_port: int) -> None:
    with running_server("redis") as server:
        async with client_at(server.address) as client:
            await client.execute("CONFIG", "SET", "port", unused_port)
        async with client_at(parse_address(f"redis://127.0.0.1:{unused_port}/1")) as client:
            assert await client.execute("PING") == b"PONG"


async def test_callers_share_one_connection_and_one_attempt(valkey: Server) -> None:
    async with client_at(valkey.address) as client:
        names = await asyncio.gather(*[client.execute("CLIENT", "ID") for _ in range(50)])

    assert len(set(names)) == 1


async def test_a_server_that_is_away_fails_at_once_and_is_found_again() -> None:
    with running_server("redis") as server:
        server.kill()
        async with client_at(server.address) as client:
            results = await asyncio.gather(*[client.execute("PING") for _ in range(50)], return_exceptions=True)
            assert [type(result) for result in results] == [StoreUnavailable] * 50

            server.start()
            assert await until_available(lambda: client.execute("PING")) == b"PONG"


async def test_a_server_that_accepts_and_says_nothing_is_unavailable_in_time() -> None:
    """C6: a new turn is then answered from memory."""

    async def say_nothing(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with played(say_nothing) as address, client_at(address, bounds=Bounds(connect=0.02)) as client:
        with pytest.raises(StoreUnavailable):
            await client.execute("PING")


async def test_a_closed_client_stays_closed(valkey: Server) -> None:
    async with client_at(valkey.address) as client, client_at(valkey.address) as unused:
        await client.execute("PING")
        twin = client.twin()
        await twin.execute("PING")
        await client.close()
        await unused.close()

        for each in (client, twin, unused):
            with pytest.raises(StoreUnavailable):
                await each.execute("PING")


async def test_a_caller_that_leaves_while_it_connects_leaves_a_client_that_works(valkey: Server) -> None:
    async with client_at(valkey.address) as client:
        first, second = (asyncio.ensure_future(client.execute("ECHO", text)) for text in ("first", "second"))
        await asyncio.sleep(0)
        first.cancel()

        assert await second == b"second"


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As a server does that knows its client's every command; it leaves when the client has."""
    with suppress(ConnectionError):
        while await reader.read(1_000):
            writer.write(b"%0\r\n")


@pytest.mark.parametrize("turns", range(20))
async def test_who_leaves_at_any_moment_of_connecting_leaves_nothing_open(turns: int) -> None:
    async with played(greet) as address:
        opening = asyncio.ensure_future(connect(address, bounds=PATIENT))
        for _ in range(turns):
            await asyncio.sleep(0)
        opening.cancel()
        for opened in await asyncio.gather(opening, return_exceptions=True):
            if isinstance(opened, Connection):
                opened.abort()


async def test_a_client_that_is_closed_while_it_connects_leaves_nothing_open() -> None:
    async with played(greet) as address:
        client = Client(address)
        asking = asyncio.ensure_future(client.execute("PING"))
        await asyncio.sleep(0)
        await client.close()

        with pytest.raises(StoreUnavailable):
            await asking
