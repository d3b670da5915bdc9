"""`python -m app dev`: it starts, answers, survives the death of each of its parts and of itself, and stops.

One stack for all of them, in the order written: what a test leaves behind is what the next one finds, as in life.
"""

import json
import signal
import subprocess
from collections.abc import Iterator

import psutil
import pytest

from tests.stack.embedded import ROOT, SECONDS, Answer, Stack, running_stack

pytestmark = pytest.mark.timeout(120)

QUESTION = "What is 17.5% of 2,480? Note it in the outbox."


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("state")) as stack:
        yield stack


def ending(answer: Answer) -> tuple[str, list[str]]:
    """How the stream ended, and the run in it."""
    return (answer.how, [str(frame["finishReason"]) for frame in answer.frames if frame["type"] == "finish"])


WELL = ("ended", ["stop"])


def asked(stack: Stack) -> str:
    """Ask, see that it is answered, and tell how."""
    answer = stack.ask(QUESTION)
    assert ending(answer) == WELL
    return answer.transport


def test_it_answers_durably_at_the_address_it_prints(stack: Stack) -> None:
    assert asked(stack) == "workflow"
    assert "the answers are a demo's" in stack.output


def test_a_second_start_in_the_same_folder_is_refused_and_told_why(stack: Stack) -> None:
    second = subprocess.run(
        stack.command, cwd=ROOT, env=stack.environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )

    assert second.returncode == 1
    assert (
        second.stderr == f"{stack.folder} is in use by process {stack.process.pid}, which answers at {stack.url}.\n"
    )  # C20


def test_the_death_of_the_api_leaves_a_durable_turn_running(stack: Stack) -> None:
    cut = stack.ask(QUESTION, leave_after=5)

    stack.kill("api")
    stack.says("api was killed by SIGKILL")
    rest = stack.resume(cut, start=5)  # the connection waits for the new process; the socket is the supervisor's

    assert ending(rest) == WELL  # REQ-E10
    assert (cut.frames + rest.frames) == stack.resume(cut, start=0).frames


def test_an_api_that_is_told_to_stop_aborts_its_streams_and_the_next_one_has_the_rest(stack: Stack) -> None:
    cut = stack.ask(QUESTION, then=stack.parts("api")[0].terminate)
    stack.says("api ended with code 0")

    assert cut.how == "cut"  # a clean end would look like the end of the answer
    rest = stack.resume(cut, start=len(cut.frames))
    assert ending(rest) == WELL
    assert cut.frames + rest.frames == stack.resume(cut, start=0).frames


def test_the_death_of_workers_is_survived_by_their_turns(stack: Stack) -> None:
    cut = stack.ask(QUESTION, leave_after=5)

    stack.kill("worker")
    stack.says("worker-1 is ready", times=2)
    stack.says("worker-2 is ready", times=2)

    assert ending(stack.resume(cut, start=5)) == WELL  # REQ-C12


def test_the_death_of_valkey_loses_no_frame(stack: Stack) -> None:
    before = stack.ask(QUESTION)

    stack.kill("valkey-server")
    stack.says("valkey is ready", times=2)

    assert stack.resume(before, start=0).frames == before.frames
    assert asked(stack) == "workflow"


@pytest.mark.long
@pytest.mark.long
def test_without_temporal_turns_run_inline_and_with_it_durably_again(stack: Stack) -> None:
    stack.parts("temporal")[0].suspend()
    stack.until_dispatch(breaker="open")
    assert asked(stack) == "inline"  # REQ-F4

    stack.kill("temporal")
    stack.says("temporal is ready", times=2)
    stack.until_dispatch(breaker="closed")

    assert asked(stack) == "workflow"


def test_the_switch_of_the_command_line_is_seen(stack: Stack) -> None:
    assert stack.command_line("dispatch", "off") == '{"switch": "off"}\n'
    stack.until_dispatch(switch="off")  # REQ-F2
    assert asked(stack) == "inline"

    assert stack.command_line("dispatch", "on") == '{"switch": "on"}\n'
    stack.until_dispatch(switch="on")
    assert asked(stack) == "workflow"


def test_a_smoke_turn_crosses_slices(stack: Stack) -> None:
    result = json.loads(stack.command_line("smoke"))

    assert (result["ok"], result["transport"]) == (True, "workflow")  # REQ-Y9
    assert json.loads(stack.command_line("smoke", "--mode", "inline"))["ok"] is True


def test_nothing_outlives_a_killed_supervisor_and_the_next_start_goes_on(stack: Stack) -> None:
    before = stack.ask(QUESTION)
    cut = stack.ask(QUESTION, leave_after=5)

    assert stack.crash() == []
    stack.start()  # at the same address, if nobody else has taken it

    assert stack.resume(before, start=0).frames == before.frames
    assert ending(stack.resume(cut, start=0)) == WELL


def test_it_stops_and_leaves_nothing(stack: Stack) -> None:
    stack.ask(QUESTION, leave_after=5)
    parts = stack.process.children()

    assert stack.stop(signal.SIGINT) == 0

    _, alive = psutil.wait_procs(parts, 0)
    assert alive == []
