"""Turns that run in this process: the same runner as in an activity, without slices.

A task here owns nothing but its claim. It may lose that to another executor, or find that one was first, and then just
ends. What it leaves unfinished is found by the sweeper.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from checkpoints.port import Order
from protocol.errors import ErrorKind, StoreUnavailable, TurnkeepError
from runner.port import Job, TurnRunner

logger = logging.getLogger(__name__)

LEAVING_SECONDS: Final = 1.0  # for cancelled executors to let go
END_TRIES: Final = 5  # at a run whose dead executor's lease has not lapsed yet; then the next sweep comes


class InlineTurns:
    """The runs executed here. `resumable` says whether another process could go on with them from the store."""

    def __init__(self, runner: TurnRunner, *, resumable: bool = True) -> None:
        self._runner = runner
        self._resumable = resumable
        self._drain = asyncio.Event()
        self._closed = False
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, run_id: str, order: Order) -> None:
        """Try to execute the run. Harmless where it is executed here or elsewhere, or has ended."""
        self._attend(run_id, self._execute, order)

    def end(self, run_id: str, order: Order, kind: ErrorKind) -> None:
        """Give the run a typed end. Harmless as `begin` is."""
        self._attend(run_id, self._end, order, kind)

    def _attend(self, run_id: str, work: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> None:
        if self._closed or run_id in self._tasks:
            return
        task = asyncio.create_task(self._survive(run_id, work(run_id, *arguments)))
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(run_id, None))

    def run_ids(self) -> tuple[str, ...]:
        return tuple(self._tasks)

    async def drain(self, grace_seconds: float) -> None:
        """Begin nothing more; hand over by checkpoint and release (C22). Runs that only live here get the time to end."""
        self._closed = True
        if self._resumable:
            self._drain.set()
        for bound in (grace_seconds, LEAVING_SECONDS):
            if tasks := list(self._tasks.values()):
                await asyncio.wait(tasks, timeout=bound)
            for task in tasks:
                task.cancel()

    async def _execute(self, run_id: str, order: Order) -> None:
        try:
            result = await self._runner.run(Job(run_id=run_id, order=order, mode="inline"), self._drain)
        except TurnkeepError as error:
            if error.retryable:
                raise
            await self._end(run_id, order, error.kind)  # no other attempt can help
        else:
            if result.outcome == "exhausted":
                await self._end(run_id, order, "interrupted")

    async def _end(self, run_id: str, order: Order, kind: ErrorKind) -> None:
        for _ in range(END_TRIES):
            result = await self._runner.fail(run_id, order, kind)
            if result.outcome != "busy":
                return
            await asyncio.sleep(result.wait_ms / 1_000)

    async def _survive(self, run_id: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except StoreUnavailable:
            logger.warning("an inline turn found no store", extra={"run_id": run_id})
        except Exception as error:  # noqa: BLE001 - its text may quote the turn; the sweeper takes the run up again
            logger.error("an inline turn raised %s", type(error).__qualname__, extra={"run_id": run_id})  # noqa: TRY400 - see above
