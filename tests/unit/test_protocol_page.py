"""PROTOCOL.md and the suite name the same MUSTs: none without a test, none invented by a test."""

import re
from pathlib import Path

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


def test_the_page_stays_short_enough_to_be_read() -> None:
    assert len((ROOT / "PROTOCOL.md").read_text().splitlines()) <= 250
