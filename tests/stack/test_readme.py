"""README.md does what it says: its shell blocks as they stand, with the address and the interpreter of the test in place."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from turnkeep_client import Client

from tests.stack.embedded import ROOT, SECONDS, Stack

pytestmark = pytest.mark.timeout(120)

README = (ROOT / "README.md").read_text()
SECTIONS = dict(section.split("\n", 1) for section in README.split("\n## ")[1:])
END = "\0"  # between the outputs of two commands


def block(section: str) -> str:
    """The first shell block of a section."""
    found = re.search(r"```sh\n(.*?)```", SECTIONS[section], re.DOTALL)
    assert found is not None, section
    return found[1]


def commands(section: str) -> list[str]:
    """The commands of a block that has one a line, without their remarks."""
    return [line.split("  #")[0].rstrip() for line in block(section).splitlines()]


def run(script: str, *, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ("bash", "-c", script),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def frames_of(stream: str) -> list[dict[str, Any]]:
    """The frames of a stream as `curl` printed it, each with its index; one that was cut short is left out."""
    pieces = re.findall(r"^id: (\d+)\n(?:event: .*\n)?data: (.*)\n\n", stream, re.MULTILINE)
    return [{"index": int(index), **json.loads(data)} for index, data in pieces]


@pytest.fixture(scope="module")
def walk(scripted_stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each paragraph of the walk printed."""
    text, count = re.subn(r"^URL=\S+", f"URL={scripted_stack.url}", block("Ask, drop off, come back"))
    assert count == 1
    script = "\n".join(f"{paragraph}\nprintf '\\0'" for paragraph in text.split("\n\n"))
    output = run(script, folder=tmp_path_factory.mktemp("walk"), environment=scripted_stack.environment)
    return output.split(END)[1:-1]


def test_an_answer_streams_and_goes_on_from_frame_five(walk: list[str]) -> None:
    begun, resumed = frames_of(walk[0]), frames_of(walk[1])

    assert (walk[0].splitlines()[0], len(walk[0].splitlines())) == (": open", 20)
    assert [frame["index"] for frame in begun] == [0, 1, 2, 3]  # and the fifth was cut short
    assert [frame["index"] for frame in resumed] == [*range(5, 5 + len(resumed))]
    assert resumed[-1] | {"index": 0} == {"index": 0, "type": "finish", "finishReason": "stop"}
    assert walk[1].endswith("data: [DONE]\n\n")


def test_the_status_tells_how_it_stands_without_its_content(walk: list[str]) -> None:
    status = json.loads(walk[2])

    last = frames_of(walk[1])[-1]["index"]
    assert (status["status"], status["transport"], status["frames"]) == ("completed", "workflow", last + 1)
    words = "".join(frame.get("delta", "") for frame in frames_of(walk[1])).split()
    assert not any(word in walk[2] for word in words if len(word) > 8)  # LAW-P6


def test_one_body_has_the_answer_and_the_note_is_in_the_outbox(walk: list[str], scripted_stack: Stack) -> None:
    answer = json.loads(walk[3])

    assert "434" in answer["reply"]
    assert len(scripted_stack.notes(answer["run_id"])) == 1


def test_a_turn_that_runs_is_stopped(walk: list[str]) -> None:
    assert frames_of(walk[4])[0]["type"] == "start"
    stopped = json.loads(walk[4].rpartition("\n")[2])
    assert (stopped["success"], stopped["status"]) in [(True, "stopping"), (True, "stopped")]  # it may be quick


def test_the_switch_is_turned(scripted_stack: Stack) -> None:
    said = [
        json.loads(
            run(line.replace(".venv/bin/python", sys.executable), folder=ROOT, environment=scripted_stack.environment)
        )
        for line in commands("The switch")
    ]

    assert [one["switch"] for one in said] == ["off", {"percent": 10, "allow": []}, "on", "on"]


def test_make_knows_both_commands() -> None:
    told = {
        line: subprocess.run((*line.split(), "-n"), cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for line in commands("Two commands")
    }

    assert list(told) == ["make run", "make test"]
    assert "python -m app dev" in told["make run"]
    assert "pytest" in told["make test"]


def test_what_is_killed_are_the_workers_and_the_api_and_nothing_else(scripted_stack: Stack) -> None:
    assert [line.split()[:-2] for line in commands("Break it")] == [["pkill", "-9", "-f"]] * 2
    assert killed_by(scripted_stack, 0) == scripted_stack.parts("worker")
    assert killed_by(scripted_stack, 1) == scripted_stack.parts("api")


@pytest.mark.long
def test_the_answer_goes_on_when_workers_and_api_are_killed(scripted_stack: Stack) -> None:
    with Client(scripted_stack.url) as client:
        answer = client.ask("Count slowly to 20.")
        killed = 0
        for event in answer:
            if event.type == "data-tool-progress" and killed < 2:
                for process in killed_by(scripted_stack, killed):
                    process.kill()
                killed += 1

    assert (killed, answer.outcome, answer.finish_reason) == (2, "finished", "stop")


def killed_by(stack: Stack, number: int) -> list[psutil.Process]:
    """The processes of the stack that a line of "Break it" matches."""
    pattern = re.search("'(.*)'", commands("Break it")[number])
    assert pattern is not None
    return [one for one in (stack.process, *stack.process.children()) if re.search(pattern[1], " ".join(one.cmdline()))]
