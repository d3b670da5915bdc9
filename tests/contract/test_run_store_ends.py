"""How a run ends: laws S10 to S12 and S16 over every store."""

import asyncio

from checkpoints.port import Appended, Claimed, Refusal, Refused, RunView, Sealed
from protocol.log import Entry, Page
from tests.stores import FIRST, World, frames

STOPPED = RunView(
    state="running", mode="inline", status="", attempt=1, next=0, stop=True, lease_ms=0, deaths=0, order=FIRST
)


async def test_a_stop_is_shown_by_every_later_reply(world: World) -> None:
    """S10: however often it is asked for, and also where nobody executes the run yet."""
    run_id = await world.opened()
    assert await world.store.stop(run_id) == await world.store.stop(run_id)

    claimed = await world.won(run_id, world.request(lease_ms=0))

    assert claimed == Claimed(grip=claimed.grip, next=0, stop=True, room=claimed.room, reserved=512)
    assert await world.store.stop(run_id) == STOPPED
    assert await world.store.renew(claimed.grip, 0) == Appended(0, stop=True)
    assert await world.store.append(claimed.grip, frames(0, b"a")) == Appended(1, stop=True)
    assert await world.store.append(claimed.grip, frames(0, b"a")) == Appended(1, stop=True)
    assert await world.store.view(run_id) == await world.store.stop(run_id)


async def test_a_stop_after_the_seal_changes_nothing(world: World) -> None:
    """S10, C3."""
    grip = (await world.running()).grip
    await world.store.seal(grip, frames(0, b"a"), b"seal", stop_seen=False)

    sealed = await world.store.stop(grip.run_id)
    assert await world.store.finish(grip, frames(1, b"z"), "completed", 60_000) == Appended(2, stop=False)
    ended = await world.store.stop(grip.run_id)

    assert sealed is not None
    assert (sealed.state, sealed.status, sealed.stop) == ("sealed", "", False)
    assert ended == RunView(
        state="ended",
        mode="inline",
        status="completed",
        attempt=1,
        next=2,
        stop=False,
        lease_ms=0,
        deaths=0,
        order=FIRST,
    )


async def test_the_first_seal_stands(world: World) -> None:
    """S11, C3: text A stored and text B shown cannot happen."""
    run_id = await world.opened()
    first = (await world.won(run_id, world.request(lease_ms=0))).grip
    assert await world.store.seal(first, frames(0, b"a"), b"A", stop_seen=False) == Sealed(1, b"A", ours=True)
    assert await world.store.seal(first, frames(0, b"a"), b"A", stop_seen=False) == Sealed(1, b"A", ours=True)

    second = await world.won(run_id)
    assert second.sealed == b"A"
    assert await world.store.seal(second.grip, frames(1, b"b"), b"B", stop_seen=True) == Sealed(1, b"A", ours=False)
    assert await world.store.seal(first, frames(1, b"b"), b"B", stop_seen=True) is Refusal.FENCED

    assert (await world.page(run_id, 0)).entries == (Entry(1, 1, b"a"),)


async def test_a_stop_that_the_sealer_has_not_seen_comes_first(world: World) -> None:
    """S11, C3."""
    grip = (await world.running()).grip
    await world.store.stop(grip.run_id)

    assert await world.store.seal(grip, frames(0, b"a"), b"answer", stop_seen=False) is Refusal.STOP_FIRST
    assert await world.page(grip.run_id, 0) == Page(entries=(), next=0, first=0, ended=False)
    assert await world.store.seal(grip, frames(0, b"b"), b"stopped", stop_seen=True) == Sealed(1, b"stopped", ours=True)


async def test_a_seal_elsewhere_seals_nothing(world: World) -> None:
    """S11: it would seal frames that are not the log's."""
    grip = (await world.running()).grip
    await world.store.append(grip, frames(0, b"a", b"b"))

    replies = [await world.store.seal(grip, frames(at, b"x"), b"seal", stop_seen=True) for at in (0, 1, 3)]

    assert replies == [Appended(2, stop=False)] * 3
    assert await world.store.seal(grip, frames(2), b"seal", stop_seen=True) == Sealed(2, b"seal", ours=True)


async def test_seal_and_finish_carry_delta_and_ledger_too(world: World) -> None:
    """S5, S11, S12."""
    grip = (await world.running()).grip

    await world.store.seal(grip, frames(0, delta=b"d", ledger={"1.0": b"x"}), b"seal", stop_seen=True)
    await world.store.finish(grip, frames(0, b"z", delta=b"e", ledger={"1.0": b"y"}), "completed", 60_000)

    loaded = await world.store.load(grip)
    assert not isinstance(loaded, Refusal)
    assert (loaded.deltas, loaded.index, loaded.ledger) == ((b"d", b"e"), 1, {"1.0": b"y"})


async def test_nothing_follows_the_end(world: World) -> None:
    """S12, LAW-P1."""
    run_id = await world.opened()
    grip = (await world.won(run_id, world.request(lease_ms=0))).grip
    await world.store.append(grip, frames(0, b"a"))
    await world.store.seal(grip, frames(1, b"b"), b"seal", stop_seen=False)
    assert await world.store.append(grip, frames(2, b"x", delta=b"x")) is Refusal.CLOSED
    assert await world.store.renew(grip, 0) == Appended(2, stop=False)
    assert await world.store.finish(grip, frames(1, b"x"), "failed", 60_000) == Appended(2, stop=False)

    replies = [await world.store.finish(grip, frames(2, b"z"), "completed", 60_000) for _ in range(2)]
    replies.append(await world.store.finish(grip, frames(3, b"x"), "failed", 60_000))

    assert replies == [Appended(3, stop=False)] * 3
    assert await world.store.append(grip, frames(3, b"x")) is Refusal.CLOSED
    assert await world.store.renew(grip, 1000) is Refusal.CLOSED
    assert await world.store.seal(grip, frames(3, b"x"), b"x", stop_seen=True) == Sealed(3, b"seal", ours=True)
    assert await world.store.claim(run_id, world.request()) == Refused(why=Refusal.ENDED, status="completed")
    entries = (Entry(1, 1, b"a"), Entry(2, 1, b"b"), Entry(3, 1, b"z"))
    assert await world.page(run_id, 0) == Page(entries=entries, next=3, first=0, ended=True)


async def test_a_run_that_is_not_sealed_does_not_end(world: World) -> None:
    """S12: as after a store that went back to before the seal."""
    grip = (await world.running()).grip

    assert await world.store.finish(grip, frames(0, b"z"), "completed", 1000) is Refusal.UNSEALED

    assert (await world.page(grip.run_id, 0)).next == 0


async def test_a_run_expires_after_its_end_and_not_before(world: World) -> None:
    """S12, C7, FR60: retention counts from finish; before it no silence is too long."""
    run_id = await world.opened()
    assert set((await world.remains(run_id)).values()) == {False}
    grip = (await world.won(run_id)).grip
    await world.store.append(grip, frames(0, b"a", delta=b"d", ledger={"1.0": b"x"}))
    await world.store.stop(run_id)
    await world.store.seal(grip, frames(1), b"seal", stop_seen=True)
    assert set((await world.remains(run_id)).values()) == {False}

    await world.store.finish(grip, frames(1, b"z"), "stopped", 30)
    await world.store.release(grip, b"result", FIRST)

    while await world.remains(run_id):  # until nothing is left behind, not even the result that came last
        pass
    assert (await world.store.view(run_id), await world.store.read(run_id, 0, 1000)) == (None, None)


async def test_a_watcher_hears_a_stop(world: World) -> None:
    """S16."""
    grip, other = (await world.running()).grip, (await world.running()).grip
    heard = asyncio.Event()
    await world.store.watch_stop(grip.run_id, heard.set)
    await world.store.watch_stop(other.run_id, lambda: None)

    await world.store.stop(other.run_id)
    assert not heard.is_set()
    await world.store.stop(grip.run_id)

    await heard.wait()
    assert await world.store.renew(grip, 1000) == Appended(0, stop=True)


async def test_a_watcher_that_left_hears_nothing(world: World) -> None:
    """S16."""
    run_id = (await world.running()).grip.run_id
    heard: list[str] = []
    await world.store.watch_stop(run_id, lambda: heard.append("first"))
    await world.store.watch_stop(run_id, lambda: heard.append("second"))
    await world.store.unwatch_stop(run_id)
    await world.store.unwatch_stop(run_id)
    again = asyncio.Event()

    await world.store.stop(run_id)
    await world.store.watch_stop(run_id, again.set)

    assert heard == []
