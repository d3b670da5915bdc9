"""Whole characters only, wherever a provider cuts (FR37's neighbour, FR40)."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engine.text import joined, paired, whole, whole_json
from protocol.json import JsonObject


def halves(text: str) -> list[str]:
    """The text as UTF-16 units, as a provider that escapes each one would send it."""
    raw = text.encode("utf-16-le", "surrogatepass")
    return [raw[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(raw), 2)]


@given(st.text(st.characters(exclude_categories=("Cs", "Cc"))), st.lists(st.integers(0, 60)))
def test_text_cut_between_any_two_units_comes_out_whole(text: str, cuts: list[int]) -> None:
    units = halves(text)
    edges = sorted({0, len(units), *(cut for cut in cuts if cut < len(units))})
    shown, held = "", ""
    for start, end in pairwise(edges):
        piece, held = joined(held, "".join(units[start:end]))
        shown += piece

    assert (text, "") == (shown, held)


def test_half_a_character_that_stays_alone_is_replaced() -> None:
    assert whole("a\ud83d") == "a\ufffd"
    assert joined("\ud83d", "x") == ("\ufffdx", "")
    assert whole_json({"k\udc00": ["\ud83d\udf0d", 1, None]}) == {"k\ufffd": ["\U0001f70d", 1, None]}


def test_controls_are_replaced_and_line_ends_kept() -> None:
    assert whole("\x00\x1b[31m\x7f\x9b\t\r\n\x85\u2028") == "\ufffd\ufffd[31m\ufffd\ufffd\t\r\n\x85\u2028"


def test_what_a_provider_has_signed_keeps_its_controls() -> None:
    block: JsonObject = {"type": "thinking", "thinking": "\x00\ud83d", "signature": "s"}
    assert whole_json(block, paired) == {"type": "thinking", "thinking": "\x00\ufffd", "signature": "s"}
