"""What an activity does with cancellation, and that its signature is the one the workflow calls. No server."""

import asyncio
import inspect
from dataclasses import dataclass, field

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.slices import SliceActivities
from checkpoints.memory import MemoryRunStore
from checkpoints.port import Order
from protocol.turn import SliceInput, SliceResult
from runner.port import Job
from tests.rig import StillClock
from workflows import signatures

ORDER = SliceInput(run_id="run", generation=1, slice=1)
ENDED = SliceResult(outcome="ended", status="completed")


@dataclass
class Slow:
    """A runner in the middle of its work."""

    began: asyncio.Event = field(default_factory=asyncio.Event)
    finish: asyncio.Event = field(default_factory=asyncio.Event)
    abandoned: bool = False

    async def run(self, job: Job, drain: asyncio.Event) -> SliceResult:
        self.began.set()
        try:
            await self.finish.wait()
        except asyncio.CancelledError:
            self.abandoned = True
            raise
        return ENDED

    async def fail(self, run_id: str, order: Order, kind: str) -> SliceResult:
        raise NotImplementedError


@dataclass
class Bench:
    """One activity in progress."""

    environment: ActivityEnvironment = field(default_factory=ActivityEnvironment)
    runner: Slow = field(default_factory=Slow)
    store: MemoryRunStore = field(default_factory=lambda: MemoryRunStore(StillClock()))
    drain: asyncio.Event = field(default_factory=asyncio.Event)
    open: bool = True

    async def is_open(self) -> bool:
        return self.open

    async def begin(self, order: SliceInput = ORDER) -> "asyncio.Task[SliceResult]":
        await self.store.open(order.run_id, b"{}")
        activities = SliceActivities(runner=self.runner, store=self.store, drain=self.drain, is_open=self.is_open)
        running = asyncio.create_task(self.environment.run(activities.run_slice, order))
        await asyncio.wait(
            (asyncio.create_task(self.runner.began.wait()), running), return_when=asyncio.FIRST_COMPLETED
        )
        return running

    async def stopped(self) -> bool:
        view = await self.store.view(ORDER.run_id)
        return view is not None and view.stop


@pytest.mark.parametrize("reason", ["not_found", "timed_out", "paused", "reset"])
async def test_an_executor_that_the_server_gave_up_goes_on(reason: str) -> None:
    """C4: it may hold the claim, and then nobody else can go on."""
    bench = Bench()
    running = await bench.begin()
    bench.environment.cancel(ActivityCancellationDetails(**{reason: True}))
    bench.runner.finish.set()

    assert (await running, bench.runner.abandoned, await bench.stopped()) == (ENDED, False, False)


async def test_a_cancelled_workflow_is_a_recorded_stop_and_the_executor_goes_on_to_its_end() -> None:
    bench = Bench()
    running = await bench.begin()
    bench.environment.cancel(ActivityCancellationDetails(cancel_requested=True))
    bench.runner.finish.set()

    assert (await running, await bench.stopped()) == (ENDED, True)


async def test_a_terminated_workflow_is_no_stop_though_its_activities_are_cancelled() -> None:
    """FR49: nobody stopped the turn, and whoever adopts it goes on."""
    bench = Bench(open=False)
    running = await bench.begin()
    bench.environment.cancel(ActivityCancellationDetails(cancel_requested=True))
    bench.runner.finish.set()

    assert (await running, bench.runner.abandoned, await bench.stopped()) == (ENDED, False, False)


async def test_a_worker_that_has_to_exit_abandons_the_executor() -> None:
    """C12 REQ-C12: the failure that reaches the server says nothing else."""
    bench = Bench()
    running = await bench.begin()
    bench.environment.cancel(ActivityCancellationDetails(worker_shutdown=True))
    with pytest.raises(ApplicationError) as failure:
        await running

    assert bench.runner.abandoned
    assert (failure.value.type, failure.value.message, failure.value.non_retryable) == ("draining", "draining", False)


async def test_what_is_delivered_while_the_worker_leaves_is_given_back_unbegun() -> None:
    bench = Bench()
    bench.drain.set()
    running = await bench.begin()

    assert await running == SliceResult(outcome="handed_over", reason="draining")
    assert not bench.runner.began.is_set()


async def test_a_slice_of_a_cancelled_workflow_brings_the_stop_along() -> None:
    bench = Bench()
    running = await bench.begin(ORDER.model_copy(update={"stop": True}))
    bench.runner.finish.set()

    assert (await running, await bench.stopped()) == (ENDED, True)


async def test_hearts_beat_while_a_step_says_nothing() -> None:
    """REQ-C12: from a task of their own, with no content."""
    bench = Bench()
    beat = asyncio.Event()
    details: list[object] = []

    def on_heartbeat(*args: object) -> None:
        details.extend(args)
        beat.set()

    bench.environment.on_heartbeat = on_heartbeat
    running = await bench.begin()
    await beat.wait()
    bench.runner.finish.set()

    assert (await running, details) == (ENDED, [])


@pytest.mark.parametrize("name", ["run_slice", "fail_turn"])
def test_a_body_has_the_signature_that_the_workflow_calls(name: str) -> None:
    """REQ-C13"""
    signature = inspect.signature(getattr(signatures, name))
    body = inspect.signature(getattr(SliceActivities, name))

    assert [*body.parameters.values()][1:] == [*signature.parameters.values()]
    assert body.return_annotation == signature.return_annotation
