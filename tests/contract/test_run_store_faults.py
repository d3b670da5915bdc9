"""What the Redis store does when server, connection or disk fail it: every loss is told, nothing is written twice."""

import asyncio

import pytest

from checkpoints.port import Appended, Loaded, Refusal, Sealed
from checkpoints.redis import WRITE
from protocol.errors import StoreUnavailable
from protocol.log import Entry
from resp.client import Client
from resp.connection import Bounds
from resp.keys import Keys
from tests.proxy import proxied
from tests.servers import Server, running_server
from tests.stores import FIRST, client_at, frames, until_available, world_at

HASTY = Bounds(connect=1, command=0.05)


async def calls_of(client: Client, command: str) -> tuple[int, int]:
    """How often a server was asked for a command, and how often it failed."""
    for line in (await client.execute("INFO", "commandstats")).decode().splitlines():
        name, _, figures = line.partition(":")
        if name == f"cmdstat_{command}":
            counts = dict(figure.split("=") for figure in figures.split(","))
            return int(counts["calls"]), int(counts["failed_calls"])
    return 0, 0


async def test_a_run_is_not_opened_in_a_server_that_is_frozen(keys: Keys) -> None:
    """C6: long before a command is given up, the turn begins on the memory log."""
    patient = Bounds(command=60, silence=60)
    with running_server("valkey") as server:
        async with world_at(server.address, keys, bounds=patient) as world:
            await world.running()
            with server.frozen(), pytest.raises(StoreUnavailable):
                await world.store.open("another", b"{}")


async def test_a_repeated_append_whose_reply_was_lost_writes_once(valkey: Server, keys: Keys) -> None:
    """S5, FR18: the connection breaks after the server wrote and before it could say so."""
    async with (
        proxied(valkey.address) as proxy,
        world_at(proxy.address, keys) as world,
        client_at(valkey.address) as direct,
    ):
        grip = (await world.running()).grip
        await world.store.append(grip, frames(0, b"a"))
        proxy.hold()
        append = asyncio.ensure_future(world.store.append(grip, frames(1, b"b", delta=b"d")))
        while await direct.execute("HGET", keys.meta(grip.run_id), "next") != b"2":
            pass
        proxy.cut()
        with pytest.raises(StoreUnavailable):
            await append

        again = await until_available(lambda: world.store.append(grip, frames(1, b"b", delta=b"d")))

        assert again == Appended(2, stop=False)
        assert (await world.page(grip.run_id, 0)).entries == (Entry(1, 1, b"a"), Entry(2, 1, b"b"))
        assert await world.store.load(grip) == Loaded(request=b"request", deltas=(b"d",), index=2, ledger={})


async def test_a_slow_store_is_unavailable_and_the_next_reply_is_its_own(valkey: Server) -> None:
    """FR31: the late reply of the first command belongs to nobody."""
    async with proxied(valkey.address) as proxy, client_at(proxy.address, bounds=HASTY) as client:
        await until_available(lambda: client.execute("PING"))
        proxy.hold()
        with pytest.raises(StoreUnavailable):
            await client.execute("ECHO", "late")
        proxy.release()

        assert await until_available(lambda: client.execute("ECHO", "own")) == b"own"


async def test_no_reader_gets_anothers_reply_whoever_leaves(valkey: Server) -> None:
    """FR31: two hundred at once, a third leaves while the replies are on their way."""
    async with proxied(valkey.address) as proxy, client_at(proxy.address) as client:
        await client.execute("PING")
        for turn in range(3):
            proxy.hold()
            tasks = [asyncio.ensure_future(client.execute("ECHO", f"{turn}.{n}")) for n in range(200)]
            await asyncio.sleep(0)  # all are sent
            for task in tasks[turn::3]:
                task.cancel()
            proxy.release()
            replies = await asyncio.gather(*tasks, return_exceptions=True)

            told = [reply for reply in replies if isinstance(reply, bytes)]
            assert told == [b"%d.%d" % (turn, n) for n in range(200) if n % 3 != turn]


async def test_a_command_of_an_abandoned_connection_sets_no_ledger_entry_back(valkey: Server, keys: Keys) -> None:
    """LAW-P3: "intended" arrives after "started", from a connection that was given up with it in the line."""
    async with world_at(valkey.address, keys) as world, client_at(valkey.address) as old:
        grip = (await world.running()).grip
        await world.store.append(grip, frames(0, ledger={"1.0": b"intended"}))
        await world.store.append(grip, frames(0, ledger={"1.0": b"started"}))

        names = [name(grip.run_id) for name in (keys.meta, keys.log, keys.deltas, keys.ledger)]
        late = ("append", f"{grip.attempt}:{grip.owner}", 0, 0, b"", 1000, keys.live(grip.run_id), 1)
        assert await old.run(WRITE, names, *late, "", "", 0, "1.0", b"intended") == [0, 0]

        loaded = await world.store.load(grip)
        assert loaded == Loaded(request=b"request", deltas=(), index=0, ledger={"1.0": b"started"})


async def test_a_run_goes_on_after_the_server_was_killed(keys: Keys) -> None:
    """LAW-P1: with an append-only file nothing that was acknowledged is gone, and the scripts are sent anew."""
    with running_server("valkey", append_only=True) as server:
        async with world_at(server.address, keys) as world:
            grip = (await world.running()).grip
            await world.store.append(grip, frames(0, b"a", delta=b"d"))
            server.kill()
            with pytest.raises(StoreUnavailable):
                await world.store.append(grip, frames(1, b"b"))
            server.start()

            assert await until_available(lambda: world.store.append(grip, frames(1, b"b"))) == Appended(2, stop=False)
            assert (await world.page(grip.run_id, 0)).entries == (Entry(1, 1, b"a"), Entry(2, 1, b"b"))


async def test_a_server_that_lost_its_data_says_missing(keys: Keys) -> None:
    """C5: it does not begin the run again."""
    with running_server("redis") as server:
        async with world_at(server.address, keys) as world:
            grip = (await world.running()).grip
            server.kill()
            server.start()

            assert await until_available(lambda: world.store.append(grip, frames(0, b"a"))) is Refusal.MISSING
            assert await world.store.view(grip.run_id) is None


async def test_a_claim_is_on_disk_before_it_is_used(keys: Keys) -> None:
    """S2, C9: after a power cut an older executor must not find its own claim there."""
    with running_server("valkey", append_only=True) as server:
        async with world_at(server.address, keys) as world, client_at(server.address) as direct:
            await world.running()
            assert await calls_of(direct, "waitaof") == (1, 0)

            await direct.execute("CONFIG", "SET", "appendfsync", "no")  # a disk that never confirms
            run_id = await world.opened()
            with pytest.raises(StoreUnavailable):
                await world.won(run_id)


async def test_a_server_without_a_file_is_asked_once(keys: Keys) -> None:
    with running_server("valkey") as server:
        async with world_at(server.address, keys) as world, client_at(server.address) as direct:
            await world.running()
            await world.running()

            assert await calls_of(direct, "waitaof") == (1, 1)


async def test_a_full_server_still_lets_a_run_be_stopped_taken_over_and_ended(keys: Keys) -> None:
    """C13."""
    with running_server("redis") as server:
        async with world_at(server.address, keys) as world, client_at(server.address) as direct:
            run_id = await world.opened()
            first = (await world.won(run_id, world.request(lease_ms=0))).grip
            await direct.execute("CONFIG", "SET", "maxmemory", 1)

            with pytest.raises(StoreUnavailable, match="out of memory"):
                await world.opened()
            with pytest.raises(StoreUnavailable, match="out of memory"):
                await world.store.append(first, frames(0, b"a", delta=b"d"))
            assert await world.store.stop(run_id) is not None
            grip = (await world.won(run_id)).grip
            assert await world.store.renew(grip, 1000) == Appended(0, stop=True)
            sealed = await world.store.seal(grip, frames(0, b"b"), b"seal", stop_seen=True)
            assert sealed == Sealed(1, b"seal", ours=True)
            assert await world.store.finish(grip, frames(1, b"z"), "stopped", 60_000) == Appended(2, stop=True)
            assert await world.store.release(grip, b"result", FIRST)


async def test_a_replica_is_unavailable_for_writing(keys: Keys) -> None:
    with running_server("valkey") as server:
        async with world_at(server.address, keys) as world, client_at(server.address) as direct:
            grip = (await world.running()).grip
            await direct.execute("REPLICAOF", "127.0.0.1", 1)

            with pytest.raises(StoreUnavailable, match="replica"):
                await world.store.append(grip, frames(0, b"a"))
