"""What the Python client does where an input does not arrive at once."""

from typing import Any

import pytest
from turnkeep_client import ClientError, Refused, Unreachable
from turnkeep_client.run import say_steps, steering
from turnkeep_client.steps import Reply, Send

from tests.client_cases import client_cases
from tests.scripted_shell import reading_of


def say_with(statuses: list[int]) -> tuple[list[Any], ClientError | None]:
    """Say something to a server that answers so, 0 being no answer: what was sent, and the error."""
    reading = reading_of(client_cases()["undisturbed"])
    sent: list[Any] = []
    steps, answer = say_steps(reading, steering("Shorter!")), None
    try:
        while True:
            step = steps.send(answer)
            answer = None
            if isinstance(step, Send):
                sent.append((step.path, step.json))
                status = statuses.pop(0)
                answer = Reply(status, {}) if status else None
    except StopIteration:
        return sent, None
    except ClientError as error:
        return sent, error


def test_an_input_is_sent_again_as_the_same_one() -> None:
    """[W4]"""
    sent, error = say_with([0, 503, 200])

    assert (len(sent), sent[0], error) == (3, sent[2], None)


@pytest.mark.parametrize(("statuses", "raised"), [([409], Refused), ([413], Refused), ([0] * 5, Unreachable)])
def test_an_input_that_was_not_recorded_is_an_error(statuses: list[int], raised: type[ClientError]) -> None:
    tries = len(statuses)
    sent, error = say_with(statuses)

    assert (len(sent), type(error)) == (tries, raised)
