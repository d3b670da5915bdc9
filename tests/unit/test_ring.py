from hypothesis import given
from hypothesis import strategies as st

from frames.ring import ENTRY_BYTES, RING_BYTES, Ring
from tests.fakes.frame_source import frame, frames


@given(first=st.integers(0, 5), entries=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), max_size=30))
def test_a_ring_holds_one_stretch_whatever_comes(first: int, entries: list[tuple[int, int]]) -> None:
    ring = Ring(first)
    for end, count in entries:
        before, start = ring.end, end - min(count, end)
        taken = ring.add(end, end - start, frames("r", start, end))
        assert (taken, ring.end) == ((True, max(before, end)) if start <= before or end <= before else (False, before))
    for index in range(ring.start, ring.end):
        assert ring.since(index) == frames("r", index, ring.end)


def test_a_ring_is_bounded_and_keeps_the_newest() -> None:
    ring = Ring(0)
    for index in range(1_000):
        ring.add(index + 1, 1, frame("r", index, 1_000))
    kept = ring.end - ring.start
    assert kept * (len(frame("r", 999, 1_000)) + ENTRY_BYTES) <= RING_BYTES < (kept + 1) * (1_100 + ENTRY_BYTES)
    assert ring.since(ring.start) == b"".join(frame("r", index, 1_000) for index in range(ring.start, 1_000))


def test_the_newest_entry_stays_however_large_it_is() -> None:
    ring = Ring(0)
    large = frame("r", 1, 2 * RING_BYTES)
    ring.add(1, 1, frame("r", 0))
    ring.add(2, 1, large)
    assert (ring.start, ring.since(1)) == (1, large)


def test_viewers_that_keep_up_share_one_object() -> None:
    ring, payload = Ring(0), frames("r", 0, 3)
    ring.add(3, 3, payload)
    assert ring.since(0) is payload
    ring.add(4, 1, frame("r", 3))
    assert ring.since(0) is ring.since(0)
    assert ring.since(0) == frames("r", 0, 4)


def test_a_ring_that_forgets_goes_on_where_it_was() -> None:
    ring = Ring(0)
    ring.add(3, 3, frames("r", 0, 3))
    ring.forget()
    assert (ring.start, ring.end) == (3, 3)
    ring.add(5, 4, frames("r", 1, 5))
    assert (ring.start, ring.since(3)) == (3, frames("r", 3, 5))
