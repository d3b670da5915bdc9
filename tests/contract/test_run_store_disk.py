"""Durable writes (S17) and servers that change (S18), where a server can tell."""

import asyncio

import pytest

from checkpoints.port import Appended, Claimed, ClaimRequest, Order, Sealed
from checkpoints.redis import RedisRunStore
from checkpoints.waiting import Parking
from protocol.errors import StoreUnavailable
from resp.keys import Keys
from resp.push import PushConnection
from tests.contract.test_run_store_faults import calls_of
from tests.replication import replicated
from tests.servers import Server, running_server
from tests.stores import FIRST, PATIENT, client_at, frames, until_available, world_at

CLAIM = ClaimRequest(order=FIRST, owner="owner", mode="inline")


async def test_what_the_disk_does_not_confirm_is_written_but_not_durable(keys: Keys) -> None:
    """S17, C6, C9."""
    with running_server("valkey", append_only=True) as server:
        async with world_at(server.address, keys) as world, client_at(server.address) as direct:
            grip = (await world.running()).grip
            await direct.execute("CONFIG", "SET", "appendfsync", "no")

            written = await world.store.append(grip, frames(0, b"a", delta=b"d", reserve=600))
            sealed = await world.store.seal(grip, frames(1, b"b"), b"seal", stop_seen=False)

            assert written == Appended(1, stop=False, durable=False)
            assert sealed == Sealed(2, b"seal", ours=True, durable=False)


async def test_a_server_that_keeps_no_file_cannot_tell_and_is_believed(keys: Keys) -> None:
    """S17."""
    with running_server("valkey") as server:
        async with world_at(server.address, keys) as world:
            grip = (await world.running()).grip

            assert await world.store.append(grip, frames(0, b"a", reserve=600)) == Appended(1, stop=False)


async def test_durable_writes_that_meet_wait_for_the_disk_together(valkey: Server, keys: Keys) -> None:
    """S17: a hundred runs at their boundaries cost one wait."""
    async with world_at(valkey.address, keys) as world, client_at(valkey.address) as direct:
        grips = [(await world.running()).grip for _ in range(100)]
        before, _ = await calls_of(direct, "waitaof")

        writes = [world.store.append(grip, frames(0, b"a", delta=b"d", reserve=600)) for grip in grips]
        replies = await asyncio.gather(*writes)

        after, _ = await calls_of(direct, "waitaof")
        assert (replies, after - before) == ([Appended(1, stop=False)] * 100, 1)


async def test_where_a_replica_is_asked_for_it_must_have_what_is_durable(keys: Keys) -> None:
    """S17, C9."""
    async with replicated() as pair, client_at(pair.primary) as client:
        push = PushConnection(pair.primary, bounds=PATIENT)
        store = RedisRunStore(client, push, keys=keys, replicas=1)
        await store.open("run", b"request")
        claimed = await store.claim("run", CLAIM)
        assert isinstance(claimed, Claimed)

        with_replica = await store.append(claimed.grip, frames(0, b"a", reserve=600))
        await pair.detach()
        without = await store.append(claimed.grip, frames(1, b"b", reserve=600))

        assert (with_replica, without) == (Appended(1, stop=False), Appended(2, stop=False, durable=False))
        await push.close()


async def test_a_server_that_was_started_again_may_have_gone_back(keys: Keys) -> None:
    """S18, C9: until the log was led past what readers may have seen."""
    with running_server("valkey", append_only=True) as server:
        async with world_at(server.address, keys) as world:
            run_id = await world.opened()
            first = await world.won(run_id, world.request(lease_ms=0))
            await world.store.append(first.grip, frames(0, b"a", b"b"))
            server.kill()
            server.start()

            claims = [await until_available(lambda: world.won(run_id, world.request(lease_ms=0))) for _ in range(2)]
            newest = claims[-1].grip
            await world.store.append(newest, frames(2, b"c", reserve=700))
            after = await world.won(run_id)

            assert [(claim.next, claim.reserved, claim.went_back) for claim in (first, *claims, after)] == [
                (0, 512, False),
                (2, 512, True),
                (2, 512, True),
                (3, 700, False),
            ]


async def test_a_parked_run_lacks_nothing_on_a_server_that_was_started_again(keys: Keys) -> None:
    """S18, LAW-P8: its note was written last. What it waits for may be called, for nobody has called it."""
    with running_server("valkey", append_only=True) as server:
        async with world_at(server.address, keys) as world:
            grip = (await world.running()).grip
            await world.store.append(grip, frames(0, b"a", b"b"))
            await world.store.park(grip, Parking(taken=0, until_ms=7_000, waiting=("c1.0",)), b"", Order(1, 0, 1))
            # Durable, and so is what was written before it.
            await world.store.put_input(grip.run_id, "a", b"yes")
            server.kill()
            server.start()

            claimed = await until_available(lambda: world.won(grip.run_id))

            assert (claimed.next, claimed.reserved, claimed.went_back) == (2, 514, False)
            assert await world.store.inputs(claimed.grip, 0) == (b"yes",)


async def test_a_claim_without_its_replica_is_none(keys: Keys) -> None:
    """S17, C9."""
    with running_server("valkey", append_only=True) as server:
        async with client_at(server.address) as client:
            store = RedisRunStore(client, PushConnection(server.address), keys=keys, replicas=1)
            await store.open("run", b"request")
            with pytest.raises(StoreUnavailable):
                await store.claim("run", CLAIM)


async def test_a_server_that_was_a_replica_for_a_while_is_not_believed_since(keys: Keys) -> None:
    """S17: that it refuses to write says nothing about its file."""
    with running_server("valkey", append_only=True) as server:
        async with world_at(server.address, keys) as world, client_at(server.address) as direct:
            grip = (await world.running()).grip
            await direct.execute("REPLICAOF", "127.0.0.1", 1)
            with pytest.raises(StoreUnavailable, match="replica"):
                await world.store.append(grip, frames(0, b"a", reserve=600))
            await direct.execute("REPLICAOF", "NO", "ONE")
            await direct.execute("CONFIG", "SET", "appendfsync", "no")

            written = await world.store.append(grip, frames(0, b"a", reserve=600))

            assert written == Appended(1, stop=False, durable=False)


async def test_a_stop_that_is_not_on_the_disk_is_not_answered(keys: Keys) -> None:
    """S17: recorded before it is answered. Whoever asks again is answered once it is."""
    with running_server("valkey", append_only=True) as server:
        async with world_at(server.address, keys) as world, client_at(server.address) as direct:
            run_id = (await world.running()).grip.run_id
            await direct.execute("CONFIG", "SET", "appendfsync", "no")
            with pytest.raises(StoreUnavailable):
                await world.store.stop(run_id)
            await direct.execute("CONFIG", "SET", "appendfsync", "always")
            view = await world.store.stop(run_id)

            assert view is not None
            assert view.stop
