"""The breaker's states, by what it is told and when."""

from dispatch.breaker import Breaker

CLOSED = Breaker().probed().started()


def test_it_is_open_until_the_server_answered_once() -> None:
    assert [Breaker().open, Breaker().probed().open] == [True, False]


def test_three_failures_within_ten_seconds_open_it() -> None:
    twice = CLOSED.failed(0).failed(9_000)

    assert [twice.open, twice.failed(9_999).open] == [False, True]


def test_failures_that_are_further_apart_do_not() -> None:
    assert not CLOSED.failed(0).failed(9_000).failed(10_000).open


def test_a_success_between_failures_forgets_them() -> None:
    assert not CLOSED.failed(0).failed(1).started().failed(2).open


def test_a_probe_closes_it_and_forgets_nothing_while_it_is_closed() -> None:
    twice = CLOSED.failed(0).failed(1)

    assert [twice.failed(2).probed().open, twice.probed()] == [False, twice]


def test_on_trial_one_failure_opens_it_again() -> None:
    """A server that answers probes and starts nothing costs one slow turn a probe."""
    on_trial = CLOSED.failed(0).failed(1).failed(2).probed()

    assert [on_trial.failed(60_000).open, on_trial.started().failed(60_000).open] == [True, False]
