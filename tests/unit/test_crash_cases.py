"""What the crash suite draws and how it names it; the kills themselves are in tests/crash."""

import random  # noqa: TID251 - seeded, it is the argument

from tests.crash.cases import KILLS, SELDOM, Case, Queue, matrix, parse_case
from tests.crash.points import Place

PASSED = {
    "text": [Place("open.before", 1), Place("append.after", 3), Place("boundary:open", 1), Place("append.after", 3)]
}


def drawn(queue: Queue) -> list[list[Case]]:
    found = []
    while taken := queue.next():
        found.append([case for case, _ in taken])
    return found


def test_a_case_is_read_as_it_is_written() -> None:
    cases = matrix(PASSED)

    assert [parse_case(str(case)) for case in cases] == cases


def test_every_place_is_hit_once_by_everything_that_can_be_under_it() -> None:
    found = {str(case) for case in matrix(PASSED)}

    often = [hit for hit in KILLS if hit not in SELDOM]
    wanted = {f"text:{hit}:{place}" for hit in often for place in ("append.after:3", "boundary:open:1")}
    assert found == wanted | {"text:api:open.before:1", "text:supervised:boundary:open:1"}


def test_the_same_seed_draws_the_same_and_a_round_has_one_kill() -> None:
    cases = matrix(PASSED)
    first, second = (drawn(Queue(cases, random.Random("seed"), 50)) for _ in range(2))

    assert first == second
    assert sum(map(len, first)) == 50
    assert {len({case.hit for case in together}) for together in first} == {1}


def test_a_case_that_was_not_hit_comes_back_a_few_times() -> None:
    queue = Queue(matrix(PASSED)[:1], random.Random("seed"), 1)
    rounds = 0
    while taken := queue.next():
        rounds += 1
        queue.back(*taken[0])

    assert rounds == 4
