"""What a worker tells its supervisor about what it holds, and what the supervisor makes of it (C15)."""

import os
from collections.abc import Iterator

import pytest

from app.holdings import Held, Holdings, Report
from checkpoints.port import Grip

FIRST, SECOND = Grip("run", 1, "one"), Grip("run", 2, "two")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    os.set_blocking(ends[0], False)
    yield ends
    for end in ends:
        os.close(end)


def heard(descriptor: int, holdings: Holdings) -> list[Held]:
    holdings.hear(os.read(descriptor, 65_536))
    return list(holdings)


def test_what_is_begun_is_held_with_its_newest_grip_until_it_has_ended(pipe: tuple[int, int]) -> None:
    report, holdings = Report(pipe[1]), Holdings()

    report.begun(b"\x00token\n", "run")
    assert heard(pipe[0], holdings) == [Held(b"\x00token\n", None)]
    report.claimed(FIRST)
    report.claimed(SECOND)
    assert heard(pipe[0], holdings) == [Held(b"\x00token\n", SECOND)]
    report.ended(b"\x00token\n")
    assert heard(pipe[0], holdings) == []


def test_two_activities_of_a_run_keep_its_grip_until_both_have_ended(pipe: tuple[int, int]) -> None:
    report, holdings = Report(pipe[1]), Holdings()
    report.begun(b"old", "run")
    report.begun(b"new", "run")
    report.claimed(SECOND)
    report.ended(b"old")

    assert heard(pipe[0], holdings) == [Held(b"new", SECOND)]
    report.ended(b"new")
    report.begun(b"next", "run")
    assert heard(pipe[0], holdings) == [Held(b"next", None)]


def test_lines_may_arrive_in_any_pieces_and_nonsense_is_passed_over(pipe: tuple[int, int]) -> None:
    report, holdings = Report(pipe[1]), Holdings()
    report.begun(b"token", "run")
    os.write(pipe[1], b"alive\nclaimed run first one\nwhat\n\xff\nbegun %%% run\n")
    report.claimed(FIRST)
    for byte in os.read(pipe[0], 65_536):
        holdings.hear(bytes([byte]))

    assert list(holdings) == [Held(b"token", FIRST)]


def test_the_worker_never_waits_for_whoever_listens(pipe: tuple[int, int]) -> None:
    report = Report(pipe[1])

    for _ in range(5_000):  # some three times what a pipe takes
        report.begun(b"a token of the usual length", "run")

    os.close(pipe[0])
    report.begun(b"token", "run")  # nor does it fail where nobody does
    os.dup2(pipe[1], pipe[0])  # for the fixture to close
