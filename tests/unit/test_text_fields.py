"""Any text, cut anywhere, in every field: what goes in is in stream, checkpoint, records and prompt (FR37 FR38 FR40 FR43)."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.bodies import parse_object
from api.chat_body import parse_chat
from assistants.definition import Assistant, WrongDefinition
from engine.text import whole
from protocol.errors import TurnkeepError
from protocol.frames import DATA_NAMES, Frame
from protocol.turn import TurnInput, TurnRequest
from tests.text_fields import FIELDS, OURS
from tests.text_turn import carried

ODD = {
    "astral": "\U0001f600\U0001f1e9\U0001f1ea",
    "joined by ZWJ": "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "combining": "e\u0301\u0323 Z\u0351\u036b\u0343 \u1100\u1161\u11a8",
    "composed and not": "\u00e9e\u0301\ufb01\u212b",
    "right to left": "\u202e\u05d0\u0628\u2066abc\u2069\u200f",
    "line ends": "a\u2028b\u2029c\u0085d\r\ne\rf\tg",
    "marks": "\ufeff\ufffe\uffff\ufffd\u00ad\u200b\ufe0f",
    "escapes": '\\u0000 \\ud83d "}\\n data: x\n\nevent: finish',
    "pair": "\ud83d\ude00",
    "halves": "\ud83d \ude00\ud83d",
    "controls": "".join(map(chr, [*range(32), *range(0x7F, 0xA0)])),
}
ANY = st.text(
    st.characters(exclude_categories=()) | st.sampled_from("\ud83d\ude00\x00\u200d\u0301\u2028\ufeff"), max_size=12
)


def check(text: str) -> None:
    text = f"x{text}x"  # a message is trimmed
    turn = asyncio.run(carried(text))
    expected = whole(text)
    for name, found in FIELDS.items():
        places = found(turn)
        assert places == dict.fromkeys(places, expected), name


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_an_odd_text_is_the_same_in_every_place(text: str) -> None:
    """[U1]"""
    check(text)


@settings(max_examples=15, deadline=None)
@given(ANY)
def test_any_text_is_the_same_in_every_place(text: str) -> None:
    check(text)


@given(st.text(st.characters(exclude_categories=("Cs", "Cc"))))
def test_nothing_but_halves_and_controls_is_ever_changed(text: str) -> None:
    assert whole(text) == text


@given(ANY)
def test_what_is_fit_stays_so(text: str) -> None:
    once = whole(text)
    assert whole(once) == once
    assert once.encode().decode() == once


def strings(shape: Any, name: str) -> Iterator[str]:
    """The fields of a shape that can hold somebody's text."""
    for key, hint in get_type_hints(shape).items():
        if any(word in str(hint) for word in ("str", "Json", "dict")):
            yield f"{name}.{key}"


def all_fields() -> Iterator[str]:
    for shape in get_args(Frame):
        for kind in get_args(get_type_hints(shape)["type"]):
            yield from strings(shape, kind)
    yield from (f"data-{name}" for name in DATA_NAMES)
    yield from strings(TurnRequest, "request")
    yield from strings(TurnInput, "input")


def test_no_field_is_forgotten() -> None:
    """A new field of a frame, a request or an input belongs into the table, or among those that hold no one's text."""
    known = [*FIELDS, *OURS]
    assert [name for name in all_fields() if not any(fnmatchcase(name, one) for one in known)] == []


@pytest.mark.parametrize(
    "body",
    [b'{"message":"\xff"}', b'{"message":"\xed\xa0\xbd"}', b'{"message":"\xc0\x80"}', b'{"message":"\xf0\x9f\x98"}'],
)
def test_bytes_that_are_not_utf8_are_refused(body: bytes) -> None:
    """[U2]"""
    with pytest.raises(TurnkeepError) as refused:
        parse_object(body, 32)

    assert refused.value.kind == "invalid"


def test_lengths_are_counted_in_code_points_of_what_is_kept() -> None:
    """[A6] [U2]: a pair that came as two halves is one character."""
    body = json.dumps({"message": "\U0001f600" * 4_000}).encode()
    assert parse_chat(parse_object(body, 32), None, 4_000).text == "\U0001f600" * 4_000

    with pytest.raises(TurnkeepError):
        parse_chat(parse_object(json.dumps({"message": "\x00" * 4_001}).encode(), 32), None, 4_000)


def test_a_definition_with_an_unfit_text_is_refused() -> None:
    fit = Assistant(name="a", title="\U0001f600", instructions="\u202eB\u0301\u2028")

    with pytest.raises(WrongDefinition, match="title holds a control character or half"):
        replace(fit, title="a\x00")
    with pytest.raises(WrongDefinition, match="instructions holds a control character or half"):
        replace(fit, instructions="\ud83d")
