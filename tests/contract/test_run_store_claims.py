"""Who may execute a run: laws S1 to S4, S8, S13 and S15 over every store."""

from checkpoints.port import Appended, Claimed, Grip, Loaded, Order, Refusal, Refused, RunView, Sealed
from tests.stores import FIRST, YEAR_MS, World, frames


async def test_a_run_is_opened_once(world: World) -> None:
    """S1."""
    run_id = next(world.runs)

    assert [await world.store.open(run_id, b"first"), await world.store.open(run_id, b"second")] == [True, False]

    claimed = await world.won(run_id)
    assert await world.store.load(claimed.grip) == Loaded(request=b"first", deltas=(), index=0, ledger={})


async def test_nothing_but_open_creates_a_run(world: World) -> None:
    """S1, C5: whatever arrives late at a run that is gone finds it missing and leaves it so."""
    store, grip = world.store, Grip("gone", 1, "owner")

    replies = [
        await store.claim("gone", world.request()),
        await store.load(grip),
        await store.renew(grip, 1000),
        await store.append(grip, frames(0, b"a", delta=b"d", ledger={"1.0": b"x"})),
        await store.seal(grip, frames(0, b"a"), b"seal", stop_seen=True),
        await store.finish(grip, frames(0, b"a"), "completed", 1000),
        await store.release(grip, b"result", FIRST),
        await store.committed("gone", 1, 1),
        await store.stop("gone"),
        await store.view("gone"),
        await store.read("gone", 0, 1000),
    ]

    missing = Refusal.MISSING
    assert replies == [Refused(why=missing), *[missing] * 5, False, None, None, None, None]
    assert await store.open("gone", b"request")


async def test_a_live_lease_keeps_others_out_until_it_lapses(world: World) -> None:
    """S2."""
    run_id = await world.opened()
    first = await world.won(run_id, world.request(lease_ms=30))
    held = await world.won(run_id, world.request(owner=first.grip.owner))

    refused = await world.store.claim(run_id, world.request())
    assert isinstance(refused, Refused)
    assert (refused.why, YEAR_MS - 60_000 < refused.wait_ms <= YEAR_MS) == (Refusal.BUSY, True)

    assert await world.store.renew(held.grip, 30) == Appended(0, stop=False)
    taken = await world.claim(run_id, world.request())
    assert isinstance(taken, Claimed)
    assert [grip.attempt for grip in (first.grip, held.grip, taken.grip)] == [1, 2, 3]


async def test_an_older_order_is_stale_whatever_the_lease(world: World) -> None:
    """S3, C4: generation before slice before attempt."""
    run_id = await world.opened()
    newest = await world.won(run_id, world.request(Order(2, 3, 4)))
    older = [Order(1, 9, 9), Order(2, 2, 9), Order(2, 3, 3)]

    while_held = [await world.store.claim(run_id, world.request(order)) for order in older]
    await world.store.release(newest.grip, None, Order(2, 3, 4))
    while_free = [await world.store.claim(run_id, world.request(order, owner="same")) for order in older]

    assert while_held + while_free == [Refused(why=Refusal.STALE)] * 6
    assert isinstance(await world.store.claim(run_id, world.request(Order(2, 3, 4))), Claimed)
    view = await world.store.view(run_id)
    assert view is not None
    assert view.order == Order(2, 3, 4)


async def test_only_the_newest_grip_writes(world: World) -> None:
    """S4, C4: the zombie wakes up after its successor claimed."""
    run_id = await world.opened()
    zombie = (await world.won(run_id, world.request(lease_ms=0))).grip
    owner = (await world.won(run_id)).grip
    forged = Grip(run_id, owner.attempt, "somebody")
    assert await world.store.append(owner, frames(0, b"a", delta=b"d")) == Appended(1, stop=False)

    for grip in (zombie, forged):
        assert [
            await world.store.load(grip),
            await world.store.renew(grip, 1000),
            await world.store.append(grip, frames(1, b"z", delta=b"z", ledger={"1.0": b"z"})),
            await world.store.seal(grip, frames(1, b"z"), b"z", stop_seen=True),
            await world.store.finish(grip, frames(1, b"z"), "failed", 1),
        ] == [Refusal.FENCED] * 5
        assert not await world.store.release(grip, b"z", FIRST)

    assert await world.store.load(owner) == Loaded(request=b"request", deltas=(b"d",), index=1, ledger={})
    assert (await world.page(run_id, 0)).next == 1
    assert await world.store.committed(run_id, 1, 0) is None


async def test_deaths_without_progress_are_counted_and_bounded(world: World) -> None:
    """S8, C16."""
    run_id = await world.opened()
    for _ in range(2):
        await world.won(run_id, world.request(lease_ms=0, most=3))
    grip = (await world.won(run_id, world.request(lease_ms=0, most=3))).grip
    assert await world.store.claim(run_id, world.request(most=3)) == Refused(why=Refusal.EXHAUSTED)

    await world.won(run_id, world.request(owner=grip.owner, lease_ms=0, most=3))  # the same once more is no new one
    grip = (await world.won(run_id, world.request(lease_ms=0, most=4))).grip
    assert await world.store.claim(run_id, world.request(most=4)) == Refused(why=Refusal.EXHAUSTED)
    await world.store.append(grip, frames(0, b"a"))
    assert await world.store.claim(run_id, world.request(most=4)) == Refused(why=Refusal.EXHAUSTED)

    await world.store.append(grip, frames(1, delta=b"progress"))
    grip = (await world.won(run_id, world.request(lease_ms=0, most=2))).grip
    assert isinstance(await world.store.seal(grip, frames(1), b"seal", stop_seen=True), Sealed)
    assert (await world.won(run_id, world.request(most=2))).sealed == b"seal"


async def test_a_claim_that_was_released_was_no_death(world: World) -> None:
    """S8, C16: once, however often it is released; and letting another's lease lapse is no release."""
    run_id = await world.opened()
    dead = (await world.won(run_id, world.request(most=2))).grip
    assert await world.store.renew(dead, 0) == Appended(0, stop=False)
    grip = (await world.won(run_id, world.request(most=2))).grip

    assert [await world.store.release(grip, None, FIRST) for _ in range(2)] == [True, True]

    await world.won(run_id, world.request(lease_ms=0, most=2))
    assert await world.store.claim(run_id, world.request(most=2)) == Refused(why=Refusal.EXHAUSTED)


async def test_release_commits_the_result_and_frees_the_run(world: World) -> None:
    """S13, C17."""
    run_id = await world.opened()
    grip = (await world.won(run_id, world.request(Order(1, 2, 1)))).grip
    assert await world.store.append(grip, frames(0, b"a", b"b")) == Appended(2, stop=False)

    assert await world.store.release(grip, b"result", Order(1, 2, 1))
    assert await world.store.release(grip, b"result", Order(1, 2, 1))  # its reply was lost

    assert await world.store.view(run_id) == RunView(
        state="running",
        mode="inline",
        status="",
        attempt=1,
        next=2,
        stop=False,
        lease_ms=0,
        deaths=0,
        order=Order(1, 2, 1),
    )
    assert await world.store.renew(grip, 1000) == Refusal.FENCED  # a renewal that was under way
    assert await world.store.append(grip, frames(2, b"c")) == Refusal.FENCED
    assert [await world.store.committed(run_id, 1, n) for n in (1, 2, 3)] == [None, b"result", None]
    assert isinstance(await world.store.claim(run_id, world.request(Order(1, 3, 1))), Claimed)
    assert not await world.store.release(grip, b"late", Order(1, 2, 1))
    assert await world.store.committed(run_id, 1, 2) == b"result"


async def test_a_released_run_commits_nothing_without_a_result(world: World) -> None:
    """S13."""
    claimed = await world.running()

    assert await world.store.release(claimed.grip, None, Order(1, 1, 1))
    assert await world.store.committed(claimed.grip.run_id, 1, 1) is None


async def test_renewing_extends_the_lease_even_after_it_lapsed(world: World) -> None:
    """S15, C11: as long as nobody claimed since."""
    run_id = await world.opened()
    grip = (await world.won(run_id, world.request(lease_ms=0))).grip
    assert await world.store.append(grip, frames(0, b"a")) == Appended(1, stop=False)

    assert await world.store.renew(grip, YEAR_MS) == Appended(1, stop=False)
    refused = await world.store.claim(run_id, world.request())
    assert isinstance(refused, Refused)
    assert refused.why is Refusal.BUSY

    await world.store.stop(run_id)
    assert await world.store.renew(grip, 0) == Appended(1, stop=True)
    newer = await world.won(run_id)
    assert await world.store.renew(grip, YEAR_MS) == Refusal.FENCED
    assert newer.stop
