"""Histories of earlier builds, replayed by this one: a workflow that waits for hours outlives the code it began with."""

from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from workflows.chat_turn import ChatTurn
from workflows.connection import CONVERTER

HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_recorded_history_still_replays(path: Path) -> None:
    """REQ-C13: workflow code changes only so that these stay as they are; anything else is a new version of it."""
    history = WorkflowHistory.from_json("run", path.read_text())
    await Replayer(workflows=[ChatTurn], data_converter=CONVERTER).replay_workflow(history)
