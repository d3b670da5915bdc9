"""What a run waits for and what is said to it: laws S20 to S22 over every store."""

import asyncio
from dataclasses import replace

import pytest

from checkpoints.budget import MAX_INPUT_BYTES, MAX_INPUTS
from checkpoints.port import Claimed, Grip, Order, Refusal, RunView, Sealed
from checkpoints.waiting import Parking, Unread
from tests.stores import FIRST, World, frames

WAIT = Parking(taken=0, until_ms=7_000, waiting=("c1.0", "c1.1"))


def view_of(reply: RunView | Refusal | None) -> RunView:
    assert isinstance(reply, RunView)
    return reply


async def test_an_input_lies_in_the_inbox_once_and_in_order(world: World) -> None:
    """S20 [W4]: whoever lost the answer asks again; what was put first under an id stands."""
    grip = (await world.running()).grip
    for item_id, item in (("a", b"one"), ("b", b"two"), ("a", b"else"), ("b", b"two")):
        view_of(await world.store.put_input(grip.run_id, item_id, item))

    read = [await world.store.inputs(grip, taken) for taken in (0, 1, 2, 0)]
    assert read == [(b"one", b"two"), (b"two",), (), (b"one", b"two")]


async def test_nothing_is_put_where_nothing_was_opened(world: World) -> None:
    """S1, C5"""
    gone = Grip("nobody", 1, "x")

    assert await world.store.put_input("nobody", "a", b"one") is Refusal.MISSING
    assert await world.store.inputs(gone, 0) is Refusal.MISSING
    assert await world.store.park(gone, WAIT, b"", FIRST) is Refusal.MISSING
    assert await world.remains("nobody") == {}


async def test_an_inbox_is_bounded_in_number(world: World) -> None:
    """S20"""
    grip = (await world.running()).grip
    for number in range(MAX_INPUTS):
        view_of(await world.store.put_input(grip.run_id, str(number), b"."))

    assert await world.store.put_input(grip.run_id, "more", b".") is Refusal.FULL
    view_of(await world.store.put_input(grip.run_id, "0", b"."))


async def test_an_inbox_is_bounded_in_bytes(world: World) -> None:
    """S20"""
    grip = (await world.running()).grip
    view_of(await world.store.put_input(grip.run_id, "a", b"." * (MAX_INPUT_BYTES - 1)))

    assert await world.store.put_input(grip.run_id, "b", b"..") is Refusal.FULL
    view_of(await world.store.put_input(grip.run_id, "c", b"."))
    assert await world.store.inputs(grip, 1) == (b".",)


async def test_after_the_seal_nothing_new_is_put(world: World) -> None:
    """S20 [W6]: what was put before is still answered as put."""
    grip = (await world.running()).grip
    view_of(await world.store.put_input(grip.run_id, "early", b"one"))
    await world.store.seal(grip, frames(0, b"a"), b"seal", stop_seen=False)

    assert await world.store.put_input(grip.run_id, "late", b"two") is Refusal.CLOSED
    assert view_of(await world.store.put_input(grip.run_id, "early", b"one")).state == "sealed"
    await world.store.finish(grip, frames(1, b"z"), "completed", 60_000)
    assert await world.store.put_input(grip.run_id, "late", b"two") is Refusal.CLOSED


async def test_a_parked_run_has_no_lease_and_says_what_it_waits_for(world: World) -> None:
    """S21 C7 LAW-P8"""
    claimed = await world.running()
    assert await world.store.park(claimed.grip, WAIT, b"result", Order(1, 2, 3)) is None

    parked = view_of(await world.store.view(claimed.grip.run_id))
    assert (parked.state, parked.lease_ms, parked.deaths, parked.until_ms) == ("parked", 0, 0, 7_000)
    assert (parked.waiting, parked.unread) == (("c1.0", "c1.1"), 0)
    assert await world.store.committed(claimed.grip.run_id, 1, 2) == b"result"
    assert await world.store.append(claimed.grip, frames(0, b"a")) is Refusal.FENCED
    assert view_of(await world.store.put_input(claimed.grip.run_id, "a", b"yes")) == replace(parked, unread=1)


async def test_parking_again_after_a_lost_reply_is_harmless(world: World) -> None:
    """S21: and once somebody claimed, the one that parked has no say any more."""
    grip = (await world.running()).grip
    await world.store.park(grip, WAIT, b"result", FIRST)
    view_of(await world.store.put_input(grip.run_id, "a", b"yes"))
    again = await world.store.park(grip, WAIT, b"result", FIRST)
    await world.won(grip.run_id)

    assert again in (None, Refusal.FENCED)
    assert await world.store.park(grip, WAIT, b"result", FIRST) is Refusal.FENCED


async def test_a_run_does_not_park_on_what_it_has_not_read(world: World) -> None:
    """S21 C12: the answer came between the last look and the leaving."""
    grip = (await world.running()).grip
    view_of(await world.store.put_input(grip.run_id, "a", b"one"))
    view_of(await world.store.put_input(grip.run_id, "b", b"two"))

    assert await world.store.park(grip, replace(WAIT, taken=1), b"", FIRST) == Unread((b"two",))
    held = view_of(await world.store.view(grip.run_id))
    assert (held.state, held.lease_ms > 0) == ("running", True)
    assert await world.store.park(grip, replace(WAIT, taken=2), b"", FIRST) is None


async def test_a_stop_comes_before_parking(world: World) -> None:
    """S21 C18: nobody would see it there."""
    grip = (await world.running()).grip
    await world.store.stop(grip.run_id)

    assert await world.store.park(grip, WAIT, b"", FIRST) == Unread(())


async def test_a_sealed_run_does_not_park(world: World) -> None:
    grip = (await world.running()).grip
    await world.store.seal(grip, frames(0, b"a"), b"seal", stop_seen=False)

    assert await world.store.park(grip, WAIT, b"", FIRST) is Refusal.CLOSED


async def test_whoever_claims_a_parked_run_goes_on_with_it(world: World) -> None:
    """S21 C8 C16: however often that happens, waiting is no sign of a turn that kills its executors."""
    run_id = await world.opened()
    for slice_number in range(1, 9):
        claimed = await world.won(run_id, world.request(Order(1, slice_number, 1), most=2))
        running = view_of(await world.store.view(run_id))
        assert (running.state, running.waiting, running.unread) == ("running", (), 0)
        assert await world.store.park(claimed.grip, WAIT, b"", Order(1, slice_number, 1)) is None


async def test_a_parked_run_can_be_stopped(world: World) -> None:
    """S10 FR14 [W7]"""
    grip = (await world.running()).grip
    await world.store.park(grip, WAIT, b"", FIRST)

    stopped = view_of(await world.store.stop(grip.run_id))
    claimed = await world.won(grip.run_id)
    assert (stopped.stop, stopped.state, claimed.stop) == (True, "parked", True)


async def test_what_was_said_in_time_is_not_sealed_away(world: World) -> None:
    """S22 FR22: an answer that is complete waits for whoever spoke while it was written."""
    grip = (await world.running()).grip
    view_of(await world.store.put_input(grip.run_id, "a", b"one"))
    seal = world.store.seal

    assert await seal(grip, frames(0, b"a"), b"A", stop_seen=False, inputs_seen=0) is Refusal.INPUT_FIRST
    assert await seal(grip, frames(0, b"a"), b"A", stop_seen=False, inputs_seen=1) == Sealed(1, b"A", ours=True)
    assert await seal(grip, frames(0, b"a"), b"A", stop_seen=False, inputs_seen=0) == Sealed(1, b"A", ours=True)


@pytest.mark.parametrize("seen", [True, False])
async def test_an_end_that_nothing_changes_does_not_ask(world: World, seen: bool) -> None:
    """S22"""
    grip = (await world.running()).grip
    view_of(await world.store.put_input(grip.run_id, "a", b"one"))

    assert await world.store.seal(grip, frames(0, b"a"), b"A", stop_seen=seen) == Sealed(1, b"A", ours=True)


async def test_an_input_calls_the_executor(world: World) -> None:
    """S20: once, and not as a stop; without a listener for inputs it is harmless."""
    grip = (await world.running()).grip
    stopped, heard = asyncio.Event(), asyncio.Event()
    await world.store.watch_stop(grip.run_id, stopped.set, heard.set)
    view_of(await world.store.put_input(grip.run_id, "a", b"one"))
    await heard.wait()

    assert not stopped.is_set()
    await world.store.watch_stop(grip.run_id, stopped.set)
    view_of(await world.store.put_input(grip.run_id, "b", b"two"))
    await world.store.stop(grip.run_id)
    await stopped.wait()


async def test_nothing_of_an_inbox_outlives_its_run(world: World) -> None:
    """S12 C7 LAW-P6"""
    claimed: Claimed = await world.running()
    grip = claimed.grip
    view_of(await world.store.put_input(grip.run_id, "a", b"one"))
    await world.store.seal(grip, frames(0, b"a"), b"A", stop_seen=False)
    await world.store.finish(grip, frames(1, b"z"), "completed", 60_000)

    assert set((await world.remains(grip.run_id)).values()) <= {True}
