"""Numbers in tool input: exact for the tool, readable for a browser, refused where JSON has none (FR41, FR42)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.numbers import SAFE_INTEGER, UnreadableInput, for_browser, parse_input
from engine.text import whole_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("  ", {}),
        ('{"id": 2512292042121000001}', {"id": 2512292042121000001}),
        ('{"a": 1.0, "b": -0, "c": 1e3}', {"a": 1.0, "b": 0, "c": 1000.0}),
        ('{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_input_is_read_exactly(text: str, value: object) -> None:
    read = parse_input(text)

    assert (value, str(value)) == (read, str(read))


@pytest.mark.parametrize(
    "text",
    ["[1]", "7", '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e400}', '{"a": ' + "9" * 4500 + "}", '{"a"', "[" * 100_000],
)
def test_what_cannot_be_read_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(UnreadableInput, match=r"input|number|NaN|Infinity"):
        parse_input(text)


@given(st.dictionaries(st.text(), JSON))
def test_any_json_object_is_read_as_it_is(value: dict[str, object]) -> None:
    assert parse_input(json.dumps(value)) == whole_json(value)  # type: ignore[arg-type] # any JSON value


@given(JSON)
def test_a_browser_gets_no_integer_that_it_would_round(value: object) -> None:
    def integers(item: object) -> list[int]:
        if isinstance(item, dict):
            return [number for inner in item.values() for number in integers(inner)]
        if isinstance(item, list):
            return [number for inner in item for number in integers(inner)]
        return [item] if isinstance(item, int) and not isinstance(item, bool) else []

    shown = for_browser(value)  # type: ignore[arg-type] # any JSON value

    assert all(abs(number) <= SAFE_INTEGER for number in integers(shown))


def test_digits_beyond_the_safe_range_are_kept_as_text() -> None:
    assert for_browser({"ids": [2**53, -(2**60), 7, True]}) == {"ids": [str(2**53), str(-(2**60)), 7, True]}
