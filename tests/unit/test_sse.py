import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frames import sse
from protocol.frames import Frame, data
from protocol.json import Json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
DELTAS: st.SearchStrategy[Frame] = st.text().map(lambda text: {"type": "text-delta", "id": "t1", "delta": text})
DATA: st.SearchStrategy[Frame] = VALUES.map(lambda value: data("artifact", value, part_id="a1"))
FRAMES = DELTAS | DATA


def refuse(word: str) -> Any:
    raise AssertionError(f"{word} is not JSON")


def test_a_frame_has_an_id_an_event_and_one_line_of_data() -> None:
    assert sse.encode(17, {"type": "text-delta", "id": "t3", "delta": "é\n🌍"}) == (
        b'id: 17\nevent: text-delta\ndata: {"type":"text-delta","id":"t3","delta":"\\u00e9\\n\\ud83c\\udf0d"}\n\n'
    )


def test_an_error_frame_has_no_event_line() -> None:
    assert sse.encode(3, {"type": "error", "errorText": "no"}) == b'id: 3\ndata: {"type":"error","errorText":"no"}\n\n'


@given(index=st.integers(min_value=0), frame=FRAMES)
def test_every_frame_is_ascii_and_reads_back_with_a_strict_reader(index: int, frame: Frame) -> None:
    """FR42"""
    piece = sse.encode(index, frame)
    assert piece.isascii()
    assert b"\r" not in piece
    line = piece.split(b"\n")[2].removeprefix(b"data: ")
    assert json.loads(line, parse_constant=refuse) == frame
    assert sse.decode(piece) == (index, frame)


@given(st.lists(FRAMES))
def test_a_payload_splits_into_its_frames(frames: list[Frame]) -> None:
    pieces = [sse.encode(index, frame) for index, frame in enumerate(frames)]
    assert sse.split(b"".join(pieces)) == pieces


@pytest.mark.parametrize(
    "number", [float("nan"), float("inf"), float("-inf"), 10**4500], ids=["nan", "inf", "-inf", "4500 digits"]
)
def test_a_number_that_json_cannot_say_raises(number: float) -> None:
    """FR41, FR42"""
    with pytest.raises(ValueError, match=r"JSON|limit"):
        sse.encode(0, data("artifact", {"p": [number]}))


def test_half_a_surrogate_pair_is_a_valid_frame() -> None:
    """FR37: an emoji cut in two by a provider's deltas does not kill the write."""
    halves: list[Frame] = [{"type": "text-delta", "id": "t1", "delta": half} for half in ("\ud83c", "\udf0d")]
    assert [sse.decode(sse.encode(0, half))[1] for half in halves] == halves


def test_a_foreign_object_and_an_unknown_type_raise() -> None:
    foreign: Any = data("artifact", {"when": b"bytes"})  # type: ignore[dict-item]  # what the types forbid is the test
    with pytest.raises(TypeError):
        sse.encode(0, foreign)
    unknown: Any = {"type": "token", "delta": "x"}
    with pytest.raises(KeyError):
        sse.encode(0, unknown)


def test_a_frame_over_the_limit_raises() -> None:
    """[F7] FR48"""
    fits: Frame = {"type": "text-delta", "id": "t1", "delta": "x" * (sse.FRAME_BYTES - 200)}
    assert len(sse.encode(0, fits)) <= sse.FRAME_BYTES
    with pytest.raises(sse.FrameTooLarge):
        sse.encode(0, {"type": "text-delta", "id": "t1", "delta": "x" * sse.FRAME_BYTES})


@pytest.mark.parametrize(
    "piece", [b"", b": hb\n\n", b"id: 1\n\n", b"data: {}\n\n", b"id: x\ndata: {}\n\n", b"junk\n\n"]
)
def test_what_is_no_frame_does_not_decode(piece: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        sse.decode(piece)


def test_a_frame_decodes_without_its_event_line() -> None:
    assert sse.decode(b'id: 4\ndata: {"type":"finish-step"}\n\n') == (4, {"type": "finish-step"})


def test_large_integers_keep_their_digits() -> None:
    """FR41"""
    value: Json = {"id": 2512292042121000001}
    assert sse.decode(sse.encode(0, data("artifact", value)))[1] == data("artifact", value)
