"""The crash suite finds what it is for: seeded bugs, each at the places where it shows."""

import pytest

from tests.crash.bugs import BUGS
from tests.crash.cases import parse_case
from tests.crash.suite import Suite

pytestmark = pytest.mark.timeout(300)

# Where each bug shows: a turn, what dies, and the place at which it stands then.
SHOWN = {
    "fence-off": ("tools:pause:append.before:5", "steps:pause:append.after:5"),
    "intents-late": ("tools:worker:send.done:1", "steps:worker:send.done:1"),
    "records-first": ("text:worker:seal.before:1", "tools:worker:seal.before:1"),
    "no-reset": ("text:worker:append.after:8", "tools:worker:append.after:6"),
    "missing-is-fresh": ("tools:erase:send.done:1", "steps:erase:send.done:1"),
    "by-activity-id": ("text:late:append.after:5", "tools:late:append.after:5"),
    "stop-unseen": ("stop:api:seal.before:1",) * 3,  # the stop must come before the kill, which is drawn
}


@pytest.mark.long
@pytest.mark.parametrize("bug", BUGS)
async def test_a_seeded_bug_is_found(bug: str) -> None:
    suite = Suite(seed="a bug", bug=bug, say=print, bound_seconds=15)
    await suite.run(0, [parse_case(text) for text in SHOWN[bug]])

    assert suite.violations != []


@pytest.mark.long
async def test_a_run_whose_keys_are_gone_does_not_begin_anew() -> None:
    """C5: the same cases without the bug."""
    suite = Suite(seed="no bug", say=print)
    await suite.run(0, [parse_case(text) for text in SHOWN["missing-is-fresh"]])

    assert [result.wrong for result in suite.results] == [(), ()]
