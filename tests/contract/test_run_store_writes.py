"""What an executor writes and reads back: laws S5 to S7, S9 and S14 over every store."""

from checkpoints.port import Appended, Loaded, Refusal, Sealed
from protocol.log import Entry, Page
from tests.stores import World, frames


async def test_a_write_carries_frames_delta_and_ledger_together(world: World) -> None:
    """S5, C2."""
    grip = (await world.running()).grip

    assert await world.store.append(grip, frames(0, b"a", b"b", delta=b"d", ledger={"1.0": b"x"})) == Appended(
        2, stop=False
    )

    assert await world.page(grip.run_id, 0) == Page(entries=(Entry(2, 2, b"ab"),), next=2, first=0, ended=False)
    assert await world.store.load(grip) == Loaded(request=b"request", deltas=(b"d",), index=2, ledger={"1.0": b"x"})


async def test_a_write_elsewhere_changes_nothing_and_tells_the_index(world: World) -> None:
    """S5: repeated, ahead and behind."""
    grip = (await world.running()).grip
    write = frames(0, b"a", b"b", delta=b"d", ledger={"1.0": b"x"})

    replies = [await world.store.append(grip, write) for _ in range(3)]
    replies.append(await world.store.append(grip, frames(1, b"B", delta=b"D", ledger={"1.0": b"X"})))
    replies.append(await world.store.append(grip, frames(5, b"B", delta=b"D", ledger={"1.0": b"X"})))

    assert replies == [Appended(2, stop=False)] * 5
    assert (await world.page(grip.run_id, 0)).entries == (Entry(2, 2, b"ab"),)
    assert await world.store.load(grip) == Loaded(request=b"request", deltas=(b"d",), index=2, ledger={"1.0": b"x"})


async def test_a_write_without_frames_carries_delta_or_ledger_alone(world: World) -> None:
    """S6: and a repeat of it adds nothing."""
    grip = (await world.running()).grip
    await world.store.append(grip, frames(0, b"a"))

    for write in (
        frames(1, delta=b"d"),
        frames(1, delta=b"d"),
        frames(1, ledger={"1.0": b"intended"}),
        frames(1, delta=b"e", ledger={"1.0": b"started", "1.1": b"started"}),
        frames(0, delta=b"elsewhere", ledger={"1.0": b"elsewhere"}),
    ):
        assert await world.store.append(grip, write) == Appended(1, stop=False)

    ledger = {"1.0": b"started", "1.1": b"started"}
    assert await world.store.load(grip) == Loaded(request=b"request", deltas=(b"d", b"e"), index=1, ledger=ledger)
    assert (await world.page(grip.run_id, 0)).entries == (Entry(1, 1, b"a"),)


async def test_the_same_delta_at_another_place_is_a_new_one(world: World) -> None:
    """S6: the next index, or the next attempt."""
    run_id = await world.opened()
    grip = (await world.won(run_id, world.request(lease_ms=0))).grip
    await world.store.append(grip, frames(0, delta=b"d"))
    await world.store.append(grip, frames(0, b"a"))
    await world.store.append(grip, frames(1, delta=b"d"))
    await world.store.append(grip, frames(1, b"b", delta=b"d"))

    grip = (await world.won(run_id)).grip
    await world.store.append(grip, frames(2, delta=b"d"))

    assert await world.store.load(grip) == Loaded(request=b"request", deltas=(b"d",) * 4, index=2, ledger={})


async def test_deltas_and_ledger_come_back_byte_for_byte(world: World) -> None:
    """S7: a delta may be empty, and any byte may be in it."""
    grip = (await world.running()).grip
    every_byte = bytes(range(256))
    deltas = (b"", every_byte, b"\r\n$-1\r\n", b"x" * 300_000)

    for index, delta in enumerate(deltas):
        await world.store.append(
            grip, frames(index, b"f", delta=delta, ledger={"1.0": delta, f"2.{index}": every_byte})
        )

    ledger = {"1.0": deltas[-1]} | {f"2.{index}": every_byte for index in range(4)}
    assert await world.store.load(grip) == Loaded(request=b"request", deltas=deltas, index=4, ledger=ledger)


async def test_the_end_still_fits_into_a_full_log(world: World) -> None:
    """S9, C13."""
    small = world.with_budget(100, 20)
    store, claimed = small.store, await small.running()
    grip = claimed.grip
    assert claimed.room == 80

    assert await store.append(grip, frames(0, b"x" * 80)) == Appended(1, stop=False)
    assert await store.append(grip, frames(1, b"y", delta=b"d", ledger={"1.0": b"z"})) is Refusal.FULL
    assert await store.load(grip) == Loaded(request=b"request", deltas=(), index=0, ledger={})
    assert await store.append(grip, frames(1, delta=b"d")) == Appended(1, stop=False)
    assert await store.seal(grip, frames(1, b"y" * 21), b"seal", stop_seen=False) is Refusal.FULL
    assert await store.seal(grip, frames(1, b"y" * 20), b"seal", stop_seen=False) == Sealed(2, b"seal", ours=True)
    assert await store.finish(grip, frames(2, b"z" * 50), "completed", 1000) == Appended(3, stop=False)


async def test_a_claim_tells_how_much_room_is_left(world: World) -> None:
    """S9."""
    small = world.with_budget(100, 20)
    run_id = await small.opened()
    grip = (await small.won(run_id, small.request(lease_ms=0))).grip
    await small.store.append(grip, frames(0, b"x" * 30))
    grip = (await small.won(run_id, small.request(lease_ms=0))).grip
    await small.store.seal(grip, frames(1, b"x" * 60), b"seal", stop_seen=False)

    assert [(await small.won(run_id, small.request())).room] == [0]


async def test_reading_from_any_index_gives_every_frame_from_there(world: World) -> None:
    """S14: whatever the packing, and however small the page."""
    grip = (await world.running()).grip
    entries, index = [], 0
    for count in (1, 3, 1, 1, 7, 2, *[1] * 40, 5):
        texts = [b"<%d>" % frame for frame in range(index, index + count)]
        await world.store.append(grip, frames(index, *texts))
        index += count
        entries.append(Entry(index, count, b"".join(texts)))

    for start in range(index + 2):
        expected = tuple(entry for entry in entries if entry.end > start)
        for max_bytes in (0, 1, 9, 100, 1 << 20):
            seen: tuple[Entry, ...] = ()
            cursor = start
            while (page := await world.page(grip.run_id, cursor, max_bytes)).entries:
                size = sum(len(entry.payload) for entry in page.entries)
                assert size <= max_bytes or len(page.entries) == 1
                seen += page.entries
                cursor = page.entries[-1].end
            assert (seen, page.next, page.first, page.ended) == (expected, index, 0, False)


async def test_fat_entries_after_thin_ones_keep_a_page_small(world: World) -> None:
    """S14: sizes differ by a factor of thousands."""
    grip = (await world.running()).grip
    sizes = [10] * 100 + [200_000] * 5 + [10] * 100
    for index, size in enumerate(sizes):
        await world.store.append(grip, frames(index, b"x" * size))

    pages, cursor = [], 0
    while (page := await world.page(grip.run_id, cursor, 256 * 1024)).entries:
        pages.append([len(entry.payload) for entry in page.entries])
        cursor = page.entries[-1].end

    assert pages == [[10] * 100 + [200_000], [200_000], [200_000], [200_000], [200_000] + [10] * 100]


async def test_an_empty_log_has_an_empty_page(world: World) -> None:
    """S14."""
    run_id = await world.opened()

    assert await world.page(run_id, 0) == Page(entries=(), next=0, first=0, ended=False)
    assert await world.page(run_id, 7) == Page(entries=(), next=0, first=0, ended=False)
