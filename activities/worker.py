"""A worker process: its settings, and how it stops.

It stops by our own event: the SDK's is never set where the shutdown begins while the first activity is delivered. The event
asks the slices to hand over at their next boundary, another worker goes on with them at once, and what has not handed over
within the grace period is abandoned and becomes another attempt there. The process then leaves by `os._exit`: the
interpreter's own way out crashes now and then after a worker ran in it.
"""

import asyncio
import signal
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from temporalio.client import Client
from temporalio.worker import Worker

from activities.slices import SliceActivities
from workflows.chat_turn import ChatTurn

LEAVING_SECONDS: Final = 1.0  # for cancelled executors to let go


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """`turns` is how many live turns one worker takes; they wait for models most of the time. `build_id` names the code."""

    task_queue: str
    build_id: str
    turns: int = 100
    grace_seconds: float = 10.0


def build_worker(client: Client, activities: SliceActivities, settings: WorkerSettings) -> Worker:
    """A worker for `ChatTurn` and its activities."""
    return Worker(
        client,
        task_queue=settings.task_queue,
        workflows=[ChatTurn],
        activities=[activities.run_slice, activities.fail_turn],
        build_id=settings.build_id,  # otherwise the SDK hashes every loaded module
        max_concurrent_activities=settings.turns,
        # A workflow that went on elsewhere stays here until it is pushed out. The SDK has a thousand of them pushed out.
        max_cached_workflows=settings.turns,
        graceful_shutdown_timeout=timedelta(seconds=settings.grace_seconds),
        # How long a dead worker's workflow tasks wait for it, and how old the heartbeat may be that the server knows.
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=1),
        max_heartbeat_throttle_interval=timedelta(seconds=1),
    )


async def run_worker(client: Client, activities: SliceActivities, settings: WorkerSettings) -> None:
    """Work until SIGTERM or SIGINT, or until the activities' drain event is set; then hand over and return in time.

    Raises what ended the worker otherwise.
    """
    worker, drain = build_worker(client, activities, settings), activities.drain
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, drain.set)
    working = asyncio.create_task(worker.run())
    draining = asyncio.create_task(drain.wait())
    try:
        await asyncio.wait((working, draining), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            await working
            return
        # Polling ends with the shutdown, so what is handed over goes to another worker and not back to this one. An
        # executor that survived its activity's cancellation is waited for by nobody but us: hence the bound.
        leaving = asyncio.create_task(worker.shutdown())
        await asyncio.wait((leaving, working), timeout=settings.grace_seconds + LEAVING_SECONDS)
    finally:
        draining.cancel()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
