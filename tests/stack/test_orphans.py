"""Turns whose process died with nobody told: the sweeper's work, seen from outside."""

from pathlib import Path

import pytest

from tests.stack.embedded import running_stack

QUESTION = "What is 17.5% of 2,480? Note it in the outbox."


@pytest.mark.long
@pytest.mark.timeout(180)
def test_an_inline_turn_is_adopted_after_the_death_of_its_process(tmp_path: Path) -> None:
    with running_stack(tmp_path / "state") as stack:
        stack.command_line("dispatch", "off")
        stack.until_dispatch(switch="off")
        cut = stack.ask(QUESTION, leave_after=5)
        stack.kill("api")

        whole = stack.resume(cut, start=0)  # C22

        assert (cut.transport, whole.how) == ("inline", "ended")
        assert whole.frames[:5] == cut.frames
        assert [frame["finishReason"] for frame in whole.frames if frame["type"] == "finish"] == ["stop"]
        notes = (stack.folder / "outbox.jsonl").read_text().splitlines()
        assert len(notes) == 1
