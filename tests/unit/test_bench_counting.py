"""The bench's readers: a gap or a duplicate must not pass them by, however the bytes are cut."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bench.counting import Delays, Group, Stream, stamped
from frames import sse

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


def response(indices: list[int]) -> bytes:
    """A stream of these frames, each in a chunk of its own, to its clean end."""
    frames = b"".join(chunk(stamped(index, 1_000 + index)) for index in indices)
    finish = chunk(sse.encode(indices[-1] + 1, {"type": "finish", "finishReason": "stop"}))
    return HEAD + chunk(sse.OPEN) + frames + chunk(sse.HEARTBEAT) + finish + chunk(sse.DONE) + b"0\r\n\r\n"


def read(data: bytes, cuts: list[int], delays: Delays | None = None) -> Stream:
    stream = Stream(Group(streams=1))
    places = [0, *sorted(cut % len(data) for cut in cuts), len(data)]
    for begin, end in pairwise(places):
        stream.feed(data[begin:end], 2_000, delays or Delays())
    return stream


@given(cuts=st.lists(st.integers(min_value=0)))
def test_a_whole_stream_is_seen_whole_however_it_is_cut(cuts: list[int]) -> None:
    delays = Delays()
    stream = read(response([0, 1, 2]), cuts, delays)

    assert stream.group == Group(streams=1, frames=4, heartened=1, finished=1)
    assert list(delays.found) == [1_000, 999, 998]
    assert stream.opened


@given(cuts=st.lists(st.integers(min_value=0)))
def test_a_gap_and_a_duplicate_are_seen_however_the_stream_is_cut(cuts: list[int]) -> None:
    stream = read(response([0, 2, 3, 3, 4]), cuts)

    assert stream.group == Group(streams=1, frames=6, gaps=1, duplicates=1, heartened=1, finished=1)


def test_a_stream_that_begins_late_has_a_gap() -> None:
    assert read(response([1, 2]), []).group.gaps == 1


def test_frames_of_one_append_are_counted_one_by_one() -> None:
    stream = read(HEAD + chunk(stamped(0, 1) + stamped(1, 1) + stamped(3, 1)), [])

    assert stream.group == Group(streams=1, frames=3, gaps=1)


def test_a_delay_counts_from_the_mark_on() -> None:
    delays = Delays(since_ns=1_001)
    read(response([0, 1, 2]), [], delays)

    assert list(delays.found) == [999, 998]


def test_an_end_without_done_is_cut_off() -> None:
    assert read(HEAD + chunk(stamped(0, 1)) + b"0\r\n\r\n", []).group == Group(streams=1, frames=1, cut=1)


def test_a_refusal_opens_no_stream() -> None:
    assert not read(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", []).opened
