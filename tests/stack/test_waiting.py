"""A note that is sent after a person has seen it, with everything killed in between."""

from pathlib import Path
from typing import Any

import pytest

from tests.stack.embedded import Stack, running_stack

QUESTION = "Send a note, but ask me first."


def parked(stack: Stack, handle: str) -> dict[str, Any]:
    """The status of the run, once it waits for its person."""

    def status() -> dict[str, Any]:
        return dict(stack.client.get(f"/api/runs/{handle}").json())

    stack.until(lambda: status()["status"] == "parked", "parked")
    return status()


@pytest.mark.long
@pytest.mark.timeout(180)
@pytest.mark.parametrize("switch", ["on", "off"])
def test_a_note_waits_for_its_person_through_the_death_of_everything(tmp_path: Path, switch: str) -> None:
    """LAW-P1 LAW-P3 LAW-P8 C22 [W1] [W7] FR14"""
    with running_stack(tmp_path / "state") as stack:
        stack.command_line("dispatch", switch)
        stack.until_dispatch(switch=switch)
        left = stack.ask(QUESTION, leave_after=5)
        waiting = parked(stack, left.handle)
        before = stack.notes(waiting["run_id"])
        stack.crash()
        stack.start()
        said = stack.client.post(f"/api/chat/{left.handle}/input", json={"type": "approve", "approvalId": "c1.0"})
        whole = stack.resume(left, start=0)
        notes = stack.notes(waiting["run_id"])

    kinds = [frame["type"] for frame in whole.frames]
    assert (waiting["transport"], waiting["waiting"], before) == (
        "workflow" if switch == "on" else "inline",
        ["c1.0"],
        [],
    )
    assert (said.json()["success"], whole.how, kinds.count("finish")) == (True, "ended", 1)
    assert (notes, kinds.count("tool-approval-response")) == ([f"{waiting['run_id']}:1.0"], 1)
