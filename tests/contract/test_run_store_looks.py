"""What anyone may see of a run: law S23 over every store."""

from tests.stores import World, frames


async def test_ledger_and_seal_are_seen_without_a_claim(world: World) -> None:
    """S23"""
    claimed = await world.running()
    run_id = claimed.grip.run_id
    before = (await world.store.ledger(run_id), await world.store.sealed(run_id))
    await world.store.append(claimed.grip, frames(0, b"a", ledger={"1.0": b"x", "1.1": b"y"}))
    await world.store.append(claimed.grip, frames(1, b"b", ledger={"1.0": b"z"}))
    await world.store.seal(claimed.grip, frames(2), b"seal", stop_seen=True)
    await world.store.finish(claimed.grip, frames(2, b"c"), "completed", 60_000)

    assert before == ({}, None)
    assert await world.store.ledger(run_id) == {"1.0": b"z", "1.1": b"y"}
    assert await world.store.sealed(run_id) == b"seal"


async def test_of_a_missing_run_nothing_is_seen(world: World) -> None:
    """S23, S1, C5: and looking creates nothing."""
    assert (await world.store.ledger("gone"), await world.store.sealed("gone")) == ({}, None)
    assert await world.store.open("gone", b"request")
