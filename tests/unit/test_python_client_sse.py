"""Frames out of bytes by the Python client, cut at every place (FR40)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnkeep_client.sse import FrameParser

TEXT = "你好🌍 naïve é\u2028\u0085\x0b end"
LINES = [
    ": open",
    "",
    "id: 0",
    "event: x",
    f"data: {TEXT}",
    "",
    ": hb",
    "",
    "id:1",
    "data:a",
    "data:",
    "data: b",
    "",
    "",
]
FRAMES = [(0, TEXT), (1, "a\n\nb")]


def parsed(*chunks: bytes) -> list[tuple[int, str]]:
    parser = FrameParser()
    return [frame for chunk in chunks for frame in parser.feed(chunk)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_a_body_may_be_cut_at_every_byte(end: str) -> None:
    body = end.join(LINES).encode()

    assert [cut for cut in range(len(body) + 1) if parsed(body[:cut], body[cut:]) != FRAMES] == []
    assert parsed(*(bytes([byte]) for byte in body)) == FRAMES


@given(st.lists(st.integers(0, 200), max_size=12))
def test_how_a_body_is_cut_makes_no_difference(places: list[int]) -> None:
    body = "\r\n".join(LINES).encode()
    cuts = [0, *sorted(places), len(body)]

    assert parsed(*(body[start:end] for start, end in pairwise(cuts))) == FRAMES


@pytest.mark.parametrize("name", ["", "x", "-1", "01", "1.0", "1e3", "٣", "9007199254740993"])
def test_only_an_event_with_a_plain_index_of_its_own_is_a_frame(name: str) -> None:
    events = f"id: 7\ndata: {{}}\n\nid: {name}\ndata: {{}}\n\ndata: [DONE]\n\nid: 8\n\n"

    assert parsed(events.encode()) == [(7, "{}")]


def test_an_event_without_its_blank_line_is_not_given() -> None:
    assert parsed(b"id: 0\ndata: {}\n") == []


def test_a_byte_order_mark_is_not_part_of_the_first_line() -> None:
    assert parsed(b"\xef\xbb", b"\xbfid: 0\ndata: {}\n\n") == [(0, "{}")]


def test_bytes_that_are_not_utf_8_are_one_error() -> None:
    with pytest.raises(UnicodeDecodeError):
        parsed(b"d\xff")
