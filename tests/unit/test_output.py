"""What becomes of the values that tools return."""

import json
import math
from collections import deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from engine.shorten import MAX_BYTES, written
from engine.text import whole
from tools.output import CIRCULAR, TOO_DEEP, NotJson, capped, to_json


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@dataclass(frozen=True)
class Point:
    x: int
    y: float


class Place(BaseModel):
    name: str
    at: Point


class Scalar:
    """As numpy's scalars and arrays answer."""

    def __init__(self, value: object) -> None:
        self._value = value

    def item(self) -> object:
        return self._value


class Array:
    def tolist(self) -> list[object]:
        return [Scalar(1), math.nan]


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


def test_every_kind_of_value_has_its_rule() -> None:
    """FR42 and REQ-G5: what a tool returns is strict JSON."""
    assert to_json(
        {
            "p": math.nan,
            "q": [math.inf, -math.inf, 1.0],
            "decimals": (Decimal("NaN"), Decimal("0.10")),
            "when": [datetime(2026, 1, 2, 3, 4, tzinfo=UTC), date(2026, 1, 2), timedelta(minutes=1.5)],
            "bytes": b"\x00\xff",
            "set": {"b", "a", 1},
            "queue": deque([None, True]),
            "numpy": [Array(), Scalar(2.5)],
            "names": [Colour.RED, Level.HIGH, UUID(int=1), PurePosixPath("a/b")],
            "records": [Point(1, 2.0), Place(name="here", at=Point(0, math.nan))],
            1: "int",
            None: "none",
            (1, "a"): "tuple",
            2.5: {False: "bool"},
        }
    ) == {
        "p": None,
        "q": [None, None, 1.0],
        "decimals": [None, "0.10"],
        "when": ["2026-01-02T03:04:00+00:00", "2026-01-02", 90.0],
        "bytes": "AP8=",
        "set": ["a", "b", 1],
        "queue": [None, True],
        "numpy": [[1, None], 2.5],
        "names": ["red", 3, "00000000-0000-0000-0000-000000000001", "a/b"],
        "records": [{"x": 1, "y": 2.0}, {"name": "here", "at": {"x": 0, "y": None}}],
        "1": "int",
        "null": "none",
        '[1, "a"]': "tuple",
        "2.5": {"false": "bool"},
    }


def test_what_contains_itself_ends() -> None:
    """FR42"""
    itself: list[Any] = [1]
    itself.append(itself)
    assert to_json({"a": itself, "b": itself}) == {"a": [1, CIRCULAR], "b": [1, CIRCULAR]}
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    assert TOO_DEEP in json.dumps(to_json(deep))


@pytest.mark.parametrize("value", [object(), Unspeakable(), 10**4500, -(10**4500), len], ids=range(5))
def test_what_is_not_json_is_refused_without_asking_its_repr(value: object) -> None:
    """FR41, FR42"""
    with pytest.raises(NotJson):
        to_json([value])


def test_characters_that_stores_refuse_are_replaced() -> None:
    """FR42"""
    assert to_json("a\x00b\ud800c\td\n\U0001f30d") == "a\ufffdb\ufffdc\td\n\U0001f30d"


def test_every_digit_reaches_the_model() -> None:
    """FR41"""
    assert written(to_json({"id": 2512292042121000001})) == '{"id": 2512292042121000001}'


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals() | st.datetimes(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.none(), inner) | st.tuples(inner),
)


@given(anything)
def test_whatever_comes_out_is_strict_json_in_utf8(value: object) -> None:
    """FR42"""
    text = json.dumps(to_json(value), ensure_ascii=False, allow_nan=False)
    assert json.loads(text.encode()) == to_json(value)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(60, 200))
def test_a_cut_is_visible_within_the_limit_and_between_characters(text: str, limit: int) -> None:
    """FR48"""
    long = text * 200
    short = capped(long, limit)
    head, marker = short.rsplit("\n[cut here: ", 1) if len(long.encode()) > limit else (short, "")
    assert long.startswith(head)
    assert len(short.encode()) <= limit
    assert marker in {"", f"{len(long.encode()):,} bytes in all]"}


def test_a_capped_text_fits_a_frame_whatever_its_characters() -> None:
    """FR48: escaped, a result at most triples, and a frame holds 256 KB."""
    for character in ('"', "\\", "\n", "é", "你", "🌍", "\x7f"):
        assert len(json.dumps(capped(whole(character * 100_000)))) <= 3 * MAX_BYTES
