"""A durable turn on the bench: the rig's runner in the activities of a real worker."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle

from activities.slices import SliceActivities
from activities.worker import WorkerSettings, build_worker
from checkpoints.port import Order
from protocol.frames import Frame
from protocol.turn import ChatTurnInput, SliceResult
from providers.script import Script, parse_script
from records.records import Records
from runner.port import Job, TurnRunner
from tests.rig import Rig
from workflows.chat_turn import ChatTurn

Durable = WorkflowHandle[ChatTurn, SliceResult]


def script_of(steps: int, *, text: str = "Step") -> Script:
    """A turn of that many model calls with a gap in each, every one but the last asking for a tool."""
    calls = [
        {
            "gap_ms": 1,
            "events": [
                {"type": "text", "text": f"{text} {step}."},
                {"type": "tool_input", "id": f"t{step}", "name": "add", "delta": f'{{"a": {step}, "b": 1}}'},
                {"type": "stop", "reason": "tool_use"},
            ],
        }
        for step in range(1, steps)
    ]
    said = [{"type": "text", "text": f"{text} {steps}, "}, {"type": "text", "text": "the last."}, {"type": "stop"}]
    lines = [{"v": 1, "name": "steps", "input": "Count."}, *calls, {"gap_ms": 1, "events": said}]
    return parse_script("\n".join(json.dumps(line) for line in lines))


class Gate:
    """The pace of a model that halts at one of its gaps, counted from 1, and says so."""

    def __init__(self, at: int) -> None:
        self._left = at
        self.reached = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self, _: float) -> None:
        self._left -= 1
        if self._left == 0:
            self.reached.set()
            await self.open.wait()


async def inline_frames(script: Script, run_id: str) -> list[Frame]:
    """The frames of the same run in one invocation, undisturbed."""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await rig.begin(script.input, run_id=run_id)
        await rig.run(script, run_id=run_id)
        return await rig.frames(run_id)


async def start(client: Client, turn: ChatTurnInput) -> Durable:
    """Start the run's workflow on the queue that bears the run's name."""
    return await client.start_workflow(ChatTurn.run, turn, id=turn.run_id, task_queue=turn.run_id)


@asynccontextmanager
async def working(
    client: Client, run_id: str, rig: Rig, runner: TurnRunner, *, drain: asyncio.Event | None = None
) -> AsyncIterator[SliceActivities]:
    """A worker on the run's queue while the block runs."""
    activities = SliceActivities(runner=runner, store=rig.store, drain=drain or asyncio.Event())
    settings = WorkerSettings(task_queue=run_id, build_id="test", grace_seconds=2)
    async with build_worker(client, activities, settings):
        yield activities


async def event_types(handle: WorkflowHandle[Any, Any]) -> list[str]:
    """The history of the handle's run, by the names of its events."""
    history = await handle.fetch_history()
    prefix = len("EVENT_TYPE_")
    return [EventType.Name(event.event_type)[prefix:] for event in history.events]


async def chain(client: Client, handle: Durable) -> list[list[str]]:
    """The histories of a workflow that continued as new, the first one first."""
    histories = []
    execution = handle.first_execution_run_id
    while execution:
        histories.append(await event_types(one := client.get_workflow_handle(handle.id, run_id=execution)))
        last = (await one.fetch_history()).events[-1]
        execution = last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
    return histories


@dataclass(kw_only=True)
class Answering:
    """A runner that gives prepared answers and notes the jobs; an exception among them is raised."""

    answers: Sequence[SliceResult | Exception]
    jobs: list[Job] = field(default_factory=list)
    failed: list[tuple[Order, str]] = field(default_factory=list)
    failing: list[SliceResult | Exception] = field(
        default_factory=lambda: [SliceResult(outcome="ended", status="failed")]
    )

    async def run(self, job: Job, drain: asyncio.Event) -> SliceResult:
        self.jobs.append(job)
        return _give(self.answers[len(self.jobs) - 1])

    async def fail(self, run_id: str, order: Order, kind: str) -> SliceResult:
        self.failed.append((order, kind))
        return _give(self.failing[len(self.failed) - 1])

    @property
    def orders(self) -> list[tuple[int, int, int]]:
        return [job.order.key for job in self.jobs]


def _give(answer: SliceResult | Exception) -> SliceResult:
    if isinstance(answer, Exception):
        raise answer
    return answer
