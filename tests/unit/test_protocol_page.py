"""PROTOCOL.md and the suite name the same MUSTs: none without a test, none invented by a test."""

import re
from pathlib import Path
from typing import get_args

from protocol.errors import HTTP_STATUS, RETRYABLE, ErrorKind

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"\[([A-Z]\d+)\]")


def numbers_in(text: str) -> set[str]:
    return set(NUMBER.findall(text))


def test_every_must_is_quoted_by_a_test_and_every_quote_is_a_must() -> None:
    """REQ-Y1"""
    page = (ROOT / "PROTOCOL.md").read_text()
    tests = (path for path in (ROOT / "tests").rglob("*.py") if path.name != Path(__file__).name)

    quoted = numbers_in("\n".join(path.read_text() for path in tests))

    assert numbers_in(page) == quoted


def test_every_must_has_a_number_and_every_number_a_must() -> None:
    rules = [line for line in (ROOT / "PROTOCOL.md").read_text().splitlines() if line.startswith("- `[")]
    text = re.split(r"\n(?=- `\[|\n|#)", (ROOT / "PROTOCOL.md").read_text())
    numbered = [one for one in text if one.startswith("- `[")]

    assert len(numbered) == len(rules)
    assert [one for one in numbered if "MUST" not in one] == []


def test_the_page_has_every_kind_of_error_with_its_status_and_whether_to_try_again() -> None:
    """REQ-V7"""
    page = (ROOT / "PROTOCOL.md").read_text()
    table = {kind: int(status) for kind, status in re.findall(r"`(\w+)` \| (\d{3}) \|", page)}
    inside, again = (
        re.findall(r"`(\w+)`", line)
        for line in re.findall(r"^(?:In a stream also|`retryable` are) .*$", page, re.MULTILINE)
    )

    assert table == HTTP_STATUS
    assert {*table, *inside} == {*get_args(ErrorKind)}
    assert {*again} - {"retryable"} == RETRYABLE


def test_the_page_stays_short_enough_to_be_read() -> None:
    assert len((ROOT / "PROTOCOL.md").read_text().splitlines()) <= 250
