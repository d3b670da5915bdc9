"""The crash suite as tests: seeded parts of it."""

import pytest

from tests.crash.suite import Suite
from tests.crash.table import table

pytestmark = pytest.mark.timeout(900)

PART = 24


async def test_a_small_part_of_the_suite_finds_nothing() -> None:
    """LAW-P1 LAW-P2 LAW-P3: one kill of each process that people lose most, under several turns."""
    suite = Suite(seed="a part", say=print, hits=("worker", "api", "valkey"))
    await suite.run(PART)

    assert [str(result.case) for result in suite.violations] == []
    assert len(suite.results) > PART // 2


@pytest.mark.long
async def test_two_hundred_turns_are_what_they_would_have_been() -> None:
    """LAW-P1 LAW-P2 LAW-P3 FR09 FR16 FR18 FR23: every kind of kill, at points drawn by the seed."""
    suite = Suite(seed="two hundred", say=print)
    await suite.run(220)
    print(suite.summary, table(suite.results), sep="\n")  # noqa: T201 - shown where the test fails, and with -s

    assert [str(result.case) for result in suite.violations] == []
    assert len(suite.results) >= 200
    assert suite.seconds <= 600
