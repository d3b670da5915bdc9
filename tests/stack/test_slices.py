"""A long agent turn over two worker processes, one of them replaced in the middle."""

import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from tests.stack.embedded import Stack
from tests.stack.reading import asking, visitor
from tests.stack.reference import frames_in_one_invocation
from tests.stack.scripts import MARKER, SEARCHES, STEPS, question
from workflows.connection import connect

pytestmark = [pytest.mark.timeout(180), pytest.mark.long]

RUN_ID = "51ce0000-0000-4000-8000-000000000001"
CONVERSATION = "slices"
MIDDLE = b'{"type":"tool-input-start","toolCallId":"c%d.0"' % (STEPS // 2)  # far from a boundary
LEAST_SLICES = 15
MOST_HISTORY_BYTES = 50_000


async def temporal_of(stack: Stack) -> Client:
    return await connect(stack.variables["TURNKEEP_TEMPORAL_ADDRESS"])


async def executing(client: Client) -> int:
    """The process that runs the slice of this moment."""
    description = await client.get_workflow_handle(RUN_ID).describe()
    return _process(description.raw_description.pending_activities[0].last_worker_identity)


def _process(identity: str) -> int:
    return int(identity.split("@", maxsplit=1)[0])


def slices_by_process(events: Sequence[HistoryEvent]) -> Counter[int]:
    started = (event.activity_task_started_event_attributes for event in events)
    return Counter(_process(one.identity) for one in started if one.identity)


async def test_a_turn_of_many_steps_crosses_workers_and_is_the_turn_of_one_invocation(
    scripted: Stack, scripts: Path, tmp_path: Path
) -> None:
    temporal = await temporal_of(scripted)
    replaced = 0
    frames: list[bytes] = []
    async with (
        visitor(scripted) as client,
        asking(client, question("steps"), run_id=RUN_ID, conversation_id=CONVERSATION) as answer,
    ):
        async for piece in answer:
            frames.append(piece)
            if MIDDLE in piece:
                replaced = await executing(temporal)
                os.kill(replaced, signal.SIGTERM)

    assert (answer.transport, answer.done) == ("workflow", True)
    scripted.says("ended with code 0; starting it again")
    reference = await frames_in_one_invocation(
        tmp_path, scripts, message=question("steps"), run_id=RUN_ID, conversation_id=CONVERSATION
    )
    assert frames == reference  # LAW-P4 REQ-D1 REQ-Y3 [L10]

    history = (await temporal.get_workflow_handle(RUN_ID).fetch_history()).events
    slices = slices_by_process(history)
    assert slices.total() >= LEAST_SLICES
    assert len(slices) >= 2, slices
    assert 0 < slices[replaced] < slices.total()
    kept = b"".join(event.SerializeToString() for event in history)
    assert len(kept) < MOST_HISTORY_BYTES  # FR49 REQ-D1: some slices' worth of ids, where the frames take two megabytes
    assert kept.count(MARKER.encode()) == 0  # LAW-P6

    assert scripted.notes(RUN_ID) == [f"{RUN_ID}:11.{SEARCHES}"]  # LAW-P3
