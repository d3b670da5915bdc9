"""The Python client's decisions, without any I/O, against the cases that both clients share."""

from dataclasses import replace
from typing import Any

import pytest
from turnkeep_client.errors import ClientError, Lost, Unreachable
from turnkeep_client.limits import Limits
from turnkeep_client.reading import Reading
from turnkeep_client.steps import Event, Reply

from tests.client_cases import ClientCase, client_cases
from tests.scripted_shell import QUESTION, ScriptedShell, reading_of

CASES = client_cases()


def outcome_of(reading: Reading, error: ClientError | None) -> dict[str, Any]:
    """The end in the words of the cases."""
    if isinstance(error, Lost):
        return {"outcome": "lost"}
    if error is not None:
        outcome = "unreachable" if isinstance(error, Unreachable) else "failed"
        return {"outcome": outcome, "kind": error.kind} | ({"status": error.status} if error.status else {})
    reason = {"finishReason": reading.finish_reason} if reading.finish_reason else {}
    return {"outcome": reading.outcome} | reason


@pytest.mark.parametrize("pieces", [1_000_000, 7, 1])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_client_behaves_as_written(case: ClientCase, pieces: int) -> None:
    reading = reading_of(case)
    shell = ScriptedShell(case, pieces)
    first = reading.place.next

    error: ClientError | None = None
    try:
        seen = shell.run(reading)
    except ClientError as raised:
        error, seen = raised, list(range(first, reading.place.next))

    assert shell.asked == [exchange["request"] for exchange in case.exchanges]
    assert shell.pauses == case.pauses
    assert outcome_of(reading, error) == case.outcome
    assert seen == list(range(first, first + len(seen)))
    assert reading.place.message == case.expected_message


def test_a_question_that_is_sent_again_is_the_same_question() -> None:
    shell = ScriptedShell(CASES["no-answer"])

    shell.run(reading_of(CASES["no-answer"]))

    assert shell.sent == [QUESTION, QUESTION, QUESTION]


def test_a_server_that_stays_away_ends_in_an_error_after_the_bound() -> None:
    case = replace(CASES["undisturbed"], exchanges=[{"status": 0}] * 4)

    with pytest.raises(Unreachable):
        ScriptedShell(case).run(reading_of(case, Limits(failures=3)))


def test_without_its_message_a_run_is_read_and_not_folded() -> None:
    case = CASES["resumed"]
    reading = reading_of(case)
    reading.place.message = None

    seen = ScriptedShell(case).run(reading)

    assert (seen, reading.place.message, reading.outcome) == (list(range(9, len(case.frames))), None, "finished")


def test_a_number_too_long_for_an_integer_stays_text() -> None:
    """FR41: over-long digits do not crash the reader."""
    digits = "7" * 5_000
    reading = reading_of(CASES["undisturbed"])
    steps = reading.steps()
    steps.send(None)
    steps.send(Reply(200, {}))

    event = steps.send(f'id: 0\ndata: {{"type":"data-void","transient":true,"data":{digits}}}\n\n'.encode())

    assert event == Event(0, {"type": "data-void", "transient": True, "data": digits})
