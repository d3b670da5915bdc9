import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frames import sse
from frames.sse import Event, Parser
from protocol.frames import Frame

TEXT = "你好🌍 naïve é"
RAW = f"\ufeff: open\n\nid: 1\nevent: greet\ndata: {TEXT}\n\ndata: two\ndata:lines\ndata\n\nid: 2\nevent: empty\n\n".encode()
EVENTS = [Event("1", "greet", TEXT), Event("1", "message", "two\nlines\n")]


def read(*pieces: bytes) -> list[Event]:
    parser = Parser()
    return [event for piece in pieces for event in parser.feed(piece)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_a_stream_is_intact_for_every_cut(end: bytes) -> None:
    """FR40"""
    raw = RAW.replace(b"\n", end)
    assert [read(raw[:cut], raw[cut:]) for cut in range(len(raw) + 1)] == [EVENTS] * (len(raw) + 1)
    assert read(*(bytes([byte]) for byte in raw)) == EVENTS


@given(texts=st.lists(st.text(), max_size=4), cuts=st.lists(st.integers(0, 2_000)))
def test_frames_come_back_from_any_pieces(texts: list[str], cuts: list[int]) -> None:
    """FR40"""
    frames: list[Frame] = [{"type": "text-delta", "id": "t1", "delta": text} for text in texts]
    raw = sse.OPEN + b"".join(sse.encode(index, frame) + sse.HEARTBEAT for index, frame in enumerate(frames)) + sse.DONE
    edges = [0, *sorted(cut for cut in cuts if cut < len(raw)), len(raw)]
    events = read(*(raw[start:end] for start, end in itertools.pairwise(edges)))
    pieces = [f"id: {event.id}\ndata: {event.data}\n\n".encode() for event in events[:-1]]
    assert [sse.decode(piece) for piece in pieces] == list(enumerate(frames))
    assert events[-1].data == "[DONE]"


def test_comments_are_counted_and_are_no_events() -> None:
    parser = Parser()
    assert parser.feed(sse.OPEN + sse.HEARTBEAT + sse.HEARTBEAT) == []
    assert parser.comments == 3


def test_an_event_without_its_blank_line_is_not_handed_out() -> None:
    assert read(b"data: cut off\n") == []


def test_an_id_sticks_and_one_with_nul_is_ignored() -> None:
    assert read(b"id: 7\ndata: a\n\ndata: b\n\nid: 8\0\ndata: c\n\n") == [
        Event("7", "message", "a"),
        Event("7", "message", "b"),
        Event("7", "message", "c"),
    ]


def test_unicode_line_ends_are_text() -> None:
    text = "a\u2028b\u2029c\u0085d\u000be\u000cf"
    assert read(f"data: {text}\n\n".encode()) == [Event("", "message", text)]


def test_bytes_that_are_not_utf8_are_one_error() -> None:
    """FR40"""
    parser = Parser()
    with pytest.raises(UnicodeDecodeError):
        parser.feed(b"data: \xff\xfe\n\n")


def test_a_long_line_in_many_pieces_is_read_once() -> None:
    parser = Parser()
    assert [parser.feed(b"x" * 1_000) for _ in range(10_000)] == [[]] * 10_000
    assert parser.feed(b": no field has this name\n\n") == []
