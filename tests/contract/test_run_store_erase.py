"""How a run's keys go before their time: law S24 over every store."""

from checkpoints.port import Append, Refusal, Refused
from tests.stores import FIRST, World, frames


async def test_nothing_is_left_of_an_erased_run(world: World) -> None:
    """S24, C5: whatever it held, and though somebody executes it: he finds it missing, and writes nothing."""
    grip = (await world.running()).grip
    run_id = grip.run_id
    await world.store.append(grip, frames(0, b"a", delta=b"delta", ledger={"1.0": b"entry"}, reserve=9))
    await world.store.put_input(run_id, "i1", b"input")
    await world.store.release(grip, b"result", FIRST)
    grip = (await world.won(run_id)).grip

    await world.store.erase(run_id)

    assert await world.store.view(run_id) is None
    assert await world.store.read(run_id, 0, 99) is None
    assert await world.store.ledger(run_id) == {}
    assert await world.store.committed(run_id, 1, 0) is None
    assert await world.store.append(grip, frames(1, b"b")) is Refusal.MISSING
    assert await world.store.renew(grip, 1_000) is Refusal.MISSING
    assert await world.store.put_input(run_id, "i2", b"input") is Refusal.MISSING
    assert await world.store.stop(run_id) is None
    assert await world.store.claim(run_id, world.request()) == Refused(why=Refusal.MISSING)
    assert await world.remains(run_id) == {}


async def test_a_sealed_run_is_erased_with_its_seal(world: World) -> None:
    """S24: and so is one that has ended; erasing twice is harmless."""
    grip = (await world.running()).grip
    await world.store.seal(grip, frames(0, b"a"), b"seal", stop_seen=False)

    await world.store.erase(grip.run_id)
    await world.store.erase(grip.run_id)

    assert await world.store.sealed(grip.run_id) is None
    assert await world.store.finish(grip, Append(start=1), "completed", 1_000) is Refusal.MISSING
    assert await world.remains(grip.run_id) == {}
