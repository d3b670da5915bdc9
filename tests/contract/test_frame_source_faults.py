"""The push connection when it breaks: what may have been missed is told, and everything listened to is listened to again."""

import asyncio
from functools import partial

from protocol.log import Pushed
from resp.client import Client
from resp.connection import Bounds
from resp.keys import Keys
from resp.push import PushConnection
from tests.proxy import played, proxied
from tests.servers import Server, running_server
from tests.stores import client_at, frames, until_available, world_at

HASTY = Bounds(connect=1, command=0.05)


async def clients_of(client: Client) -> int:
    return len((await client.execute("CLIENT", "LIST")).splitlines())


async def test_after_a_cut_the_loss_is_told_and_pushes_flow_again(valkey: Server, keys: Keys) -> None:
    """F1: for every run that is listened to."""
    async with proxied(valkey.address) as proxy, world_at(proxy.address, keys) as world:
        grips = [(await world.running()).grip for _ in range(3)]
        heard: asyncio.Queue[Pushed] = asyncio.Queue()
        lost = asyncio.Event()
        world.source.on_lost(lost.set)
        for grip in grips:
            await world.source.subscribe(grip.run_id, heard.put_nowait)
        await world.source.unsubscribe(grips[2].run_id)

        for turn in range(3):
            lost.clear()
            proxy.cut()
            await lost.wait()
            for grip in grips:
                await until_available(partial(world.store.append, grip, frames(turn, b"%d" % turn)))
            assert {(await heard.get()).run_id, (await heard.get()).run_id} == {grip.run_id for grip in grips[:2]}
        assert heard.empty()


async def test_listening_while_the_server_is_away_ends_in_a_loss(keys: Keys) -> None:
    """F1: the first subscription of a process, before the server is up."""
    with running_server("redis") as server:
        server.kill()
        async with world_at(server.address, keys) as world:
            lost, heard = asyncio.Event(), asyncio.Event()
            world.source.on_lost(lost.set)
            await world.source.subscribe("run", lambda _: heard.set())
            await world.source.subscribe("other", lambda _: None)
            await world.source.unsubscribe("other")
            assert not lost.is_set()

            server.start()
            await lost.wait()
            await until_available(lambda: world.store.open("run", b"request"))
            await world.store.append((await world.won("run")).grip, frames(0, b"a"))
            await heard.wait()


async def test_a_connection_that_died_silently_is_found(valkey: Server, keys: Keys) -> None:
    """F1: no byte comes and TCP does not say so."""
    async with proxied(valkey.address) as proxy, world_at(proxy.address, keys, bounds=HASTY) as world:
        lost = asyncio.Event()
        world.source.on_lost(lost.set)
        await world.source.subscribe("run", lambda _: None)

        proxy.hold()

        await lost.wait()


async def test_listening_over_a_connection_that_just_broke_ends_in_a_loss(valkey: Server, keys: Keys) -> None:
    """F1: not confirmed is not promised."""
    async with proxied(valkey.address) as proxy, world_at(proxy.address, keys) as world:
        grip = (await world.running()).grip
        lost, heard = asyncio.Event(), asyncio.Event()
        world.source.on_lost(lost.set)
        await world.source.subscribe("run", lambda _: None)

        proxy.cut()
        await world.source.subscribe(grip.run_id, lambda _: heard.set())

        await lost.wait()
        await until_available(lambda: world.store.append(grip, frames(0, b"a")))
        await heard.wait()


async def test_what_was_under_way_is_not_heard_after_leaving(valkey: Server, keys: Keys) -> None:
    async with (
        proxied(valkey.address) as proxy,
        world_at(proxy.address, keys) as readers,
        world_at(valkey.address, keys) as writers,
    ):
        grip = (await writers.running()).grip
        heard: list[Pushed] = []
        await readers.source.subscribe(grip.run_id, heard.append)

        proxy.hold()
        await writers.store.append(grip, frames(0, b"a"))
        leaving = asyncio.ensure_future(readers.source.unsubscribe(grip.run_id))
        await asyncio.sleep(0)  # it has left, the server has not heard of it
        proxy.release()

        await leaving
        assert heard == []


async def test_any_number_of_readers_shares_one_connection(valkey: Server, keys: Keys) -> None:
    """LAW-P8."""
    async with client_at(valkey.address) as direct, world_at(valkey.address, keys) as world:
        before = await clients_of(direct)
        for number in range(200):
            await world.source.subscribe(f"run{number}", lambda _: None)
            await world.source.read(f"run{number}", 0, 1000)

        assert await clients_of(direct) - before == 2


async def test_a_channel_that_the_server_takes_away_is_asked_for_again() -> None:
    """F1: as a cluster does when the channel's slot moves. A server of one node cannot be made to, so this one plays it."""
    asked: asyncio.Queue[bytes] = asyncio.Queue()

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1000):
            if b"HELLO" in data:
                writer.write(b"%0\r\n")
            if b"SSUBSCRIBE" in data:
                writer.write(b">3\r\n$10\r\nssubscribe\r\n$1\r\nc\r\n:1\r\n")
                if asked.empty():
                    writer.write(b">3\r\n$12\r\nsunsubscribe\r\n$1\r\nc\r\n:0\r\n")
                else:
                    writer.write(b">3\r\n$10\r\nssubscribe\r\n$1\r\nc\r\n:1\r\n")  # once too often does no harm
                asked.put_nowait(data)

    async with played(play) as address:
        push, lost = PushConnection(address), asyncio.Event()
        push.on_lost(lost.set)
        await push.subscribe("c", lambda _: None)
        await lost.wait()
        await push.close()

    assert asked.qsize() == 2
