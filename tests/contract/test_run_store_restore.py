"""A store that lost something: laws S17 to S19 over every store."""

from dataclasses import replace

import pytest

from checkpoints.port import Appended, Claimed, Grip, Loaded, Order, Refusal, Refused, Remains, RunView, Sealed
from protocol.log import Entry, Page
from tests.stores import YEAR_MS, World, frames

REMAINS = Remains(
    request=b"request",
    base=b"base",
    index=6,
    ledger={"2.0": b"started"},
    entries=(Entry(6, 2, b"ef"), Entry(9, 3, b"ghi")),
    next=9,
)


async def test_a_run_that_is_gone_is_put_back_by_its_executor(world: World) -> None:
    """S19, C5, FR60: the log begins with what is kept, its numbers go on, and older grips write no more."""
    grip = Grip("gone", 3, "owner")

    claimed = await world.store.restore(grip, world.request(Order(2, 3, 1), owner="owner"), REMAINS)

    assert isinstance(claimed, Claimed)
    expected = Claimed(grip=Grip("gone", 4, "owner"), next=9, stop=False, room=claimed.room, reserved=9 + 512)
    assert (claimed, claimed.room) == (expected, (32 * 1024 - 64) * 1024 - 5)
    assert await world.page("gone", 0) == Page(entries=REMAINS.entries, next=9, first=4, ended=False)
    loaded = Loaded(request=b"request", deltas=(b"base",), index=6, ledger={"2.0": b"started"})
    assert await world.store.load(claimed.grip) == loaded
    assert await world.store.append(grip, frames(9, b"zombie")) is Refusal.FENCED
    assert await world.store.append(claimed.grip, frames(9, b"j", delta=b"d")) == Appended(10, stop=False)
    assert (await world.page("gone", 9)).entries == (Entry(10, 1, b"j"),)
    assert set((await world.remains("gone")).values()) == {False}


async def test_a_restored_run_is_held_like_a_claimed_one(world: World) -> None:
    """S2, S3, S19."""
    request = world.request(Order(2, 3, 1), owner="owner")
    await world.store.restore(Grip("gone", 3, "owner"), request, REMAINS)

    view = await world.store.view("gone")
    busy = await world.store.claim("gone", world.request(Order(2, 3, 1)))
    stale = await world.store.claim("gone", world.request(Order(2, 2, 9)))

    assert view is not None
    lease = view.lease_ms
    assert view == RunView(
        state="running",
        mode="inline",
        status="",
        attempt=4,
        next=9,
        stop=False,
        lease_ms=lease,
        deaths=0,
        order=Order(2, 3, 1),
    )
    assert isinstance(busy, Refused)
    assert (busy.why, stale, lease > YEAR_MS - 60_000) == (Refusal.BUSY, Refused(why=Refusal.STALE), True)


async def test_a_run_is_put_back_before_anything_was_written(world: World) -> None:
    """S19."""
    nothing = Remains(request=b"request", base=None, index=0, ledger={}, entries=(), next=0, stop=True)

    claimed = await world.store.restore(Grip("gone", 1, "owner"), world.request(owner="owner"), nothing)

    assert isinstance(claimed, Claimed)
    assert (claimed.next, claimed.stop) == (0, True)
    assert await world.page("gone", 0) == Page(entries=(), next=0, first=0, ended=False)
    assert await world.store.load(claimed.grip) == Loaded(request=b"request", deltas=(), index=0, ledger={})


async def test_restoring_again_after_a_lost_reply_is_harmless(world: World) -> None:
    """S19."""
    grip, request = Grip("gone", 3, "owner"), world.request(owner="owner")

    first = await world.store.restore(grip, request, REMAINS)
    again = await world.store.restore(grip, request, REMAINS)

    assert isinstance(first, Claimed)
    assert isinstance(again, Claimed)
    assert again.grip.attempt > first.grip.attempt
    assert await world.page("gone", 0) == Page(entries=REMAINS.entries, next=9, first=4, ended=False)


async def test_what_is_there_is_put_back_over_by_its_executor_alone(world: World) -> None:
    """S19, C5: whoever lost the run cannot take it back so, and a stop outlives the loss."""
    run_id = await world.opened()
    zombie = (await world.won(run_id, world.request(lease_ms=0))).grip
    owner = (await world.won(run_id)).grip
    await world.store.append(owner, frames(0, b"a", delta=b"d", ledger={"1.0": b"x"}))
    await world.store.stop(run_id)

    refused = await world.store.restore(zombie, world.request(owner=zombie.owner), REMAINS)
    before = await world.page(run_id, 0)
    claimed = await world.store.restore(owner, world.request(owner=owner.owner), REMAINS)

    assert (refused, before.entries) == (Refusal.FENCED, (Entry(1, 1, b"a"),))
    assert isinstance(claimed, Claimed)
    assert (claimed.grip.attempt, claimed.stop) == (owner.attempt + 1, True)
    assert await world.page(run_id, 0) == Page(entries=REMAINS.entries, next=9, first=4, ended=False)
    loaded = Loaded(request=b"request", deltas=(b"base",), index=6, ledger={"2.0": b"started"})
    assert await world.store.load(claimed.grip) == loaded


async def test_what_the_executor_has_read_of_the_inbox_is_put_back(world: World) -> None:
    """S19, S20, C12: after three that its checkpoint has taken in, and the next one has the place that it looks at."""
    remains = replace(REMAINS, taken=3, inputs={"d": b"four", "e": b"five"})
    claimed = await world.store.restore(Grip("gone", 3, "owner"), world.request(owner="owner"), remains)
    assert isinstance(claimed, Claimed)

    for item_id, item in (("e", b"else"), ("f", b"six")):
        assert isinstance(await world.store.put_input("gone", item_id, item), RunView)

    read = [await world.store.inputs(claimed.grip, taken) for taken in (3, 5)]
    sealed = await world.store.seal(claimed.grip, frames(9, b"z"), b"seal", stop_seen=False, inputs_seen=5)
    assert (read, sealed) == ([(b"four", b"five", b"six"), (b"six",)], Refusal.INPUT_FIRST)


async def test_what_lies_in_the_inbox_stays_there(world: World) -> None:
    """S19, C12: a log that went back further than its executor can mend is no reason to forget what was said."""
    grip = (await world.running()).grip
    for item_id, item in (("a", b"one"), ("b", b"two"), ("c", b"three")):
        await world.store.put_input(grip.run_id, item_id, item)

    remains = replace(REMAINS, taken=1, inputs={"b": b"two"})
    claimed = await world.store.restore(grip, world.request(owner=grip.owner), remains)

    assert isinstance(claimed, Claimed)
    assert await world.store.inputs(claimed.grip, 0) == (b"one", b"two", b"three")


@pytest.mark.parametrize("ended", [False, True])
async def test_a_decided_run_is_not_put_back_over(world: World, *, ended: bool) -> None:
    """S19, C3."""
    grip = (await world.running()).grip
    await world.store.seal(grip, frames(0, b"a"), b"seal", stop_seen=False)
    if ended:
        await world.store.finish(grip, frames(1, b"z"), "completed", 60_000)

    assert await world.store.restore(grip, world.request(owner=grip.owner), REMAINS) is Refusal.CLOSED
    assert (await world.page(grip.run_id, 0)).ended is ended


async def test_a_released_run_is_not_put_back(world: World) -> None:
    """S13, S19."""
    grip = (await world.running()).grip
    await world.store.release(grip, None, Order(1, 1, 1))

    assert await world.store.restore(grip, world.request(owner=grip.owner), REMAINS) is Refusal.FENCED


async def test_durable_writes_are_confirmed_and_reserve_ahead(world: World) -> None:
    """S17, C9: on the same server the reservation is renewed with every claim."""
    run_id = await world.opened()
    first = await world.won(run_id, world.request(lease_ms=0))

    written = await world.store.append(first.grip, frames(0, b"a", delta=b"d", reserve=900))
    alone = await world.store.append(first.grip, frames(1, reserve=1_000))
    second = await world.won(run_id)
    sealed = await world.store.seal(second.grip, frames(1, b"b"), b"seal", stop_seen=False)

    assert (written, alone) == (Appended(1, stop=False), Appended(1, stop=False))
    assert (first.reserved, second.reserved, second.went_back) == (512, 1_000, False)
    assert sealed == Sealed(2, b"seal", ours=True, durable=True)
