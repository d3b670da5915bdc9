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
        self._tasks: dict[str, asyncio.Task[bool]] = {}
        self._again: dict[str, Order] = {}  # runs that were to begin while they were executed here
        self._parked: dict[str, asyncio.TimerHandle] = {}  # runs that only live here: nobody else ends their waiting

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, run_id: str, order: Order) -> None:
        """Try to execute the run. Harmless where it is executed here or elsewhere, or has ended."""
        if run_id in self._tasks:
            self._again[run_id] = order
        else:
            self._attend(run_id, self._execute, order)

    def end(self, run_id: str, order: Order, kind: ErrorKind) -> None:
        """Give the run a typed end. Harmless as `begin` is."""
        if run_id not in self._tasks:
            self._attend(run_id, self._end, order, kind)

    def _attend(self, run_id: str, work: Callable[..., Coroutine[Any, Any, bool]], *arguments: object) -> None:
        if self._closed:
            return
        self._forget(run_id)
        task = asyncio.create_task(self._survive(run_id, work(run_id, *arguments)))
        self._tasks[run_id] = task
        task.add_done_callback(lambda ended: self._ended(run_id, ended))

    def run_ids(self) -> tuple[str, ...]:
        """The runs that live here, the parked ones among them."""
        return tuple(self._tasks.keys() | self._parked.keys())

    async def drain(self, grace_seconds: float) -> None:
        """Begin nothing more; hand over by checkpoint and release (C22). Runs that only live here get the time to end."""
        self._closed = True
        for run_id in tuple(self._parked):
            self._forget(run_id)
        if self._resumable:
            self._drain.set()
        for bound in (grace_seconds, LEAVING_SECONDS):
            if tasks := list(self._tasks.values()):
                await asyncio.wait(tasks, timeout=bound)
            for task in tasks:
                task.cancel()

    async def _execute(self, run_id: str, order: Order) -> bool:
        """Whether the run is parked now."""
        try:
            result = await self._runner.run(Job(run_id=run_id, order=order, mode="inline"), self._drain)
        except TurnkeepError as error:
            if error.retryable:
                raise
            return await self._end(run_id, order, error.kind)  # no other attempt can help
        if result.outcome == "exhausted":
            return await self._end(run_id, order, "interrupted")
        if result.outcome == "parked" and not self._resumable:
            later = asyncio.get_running_loop().call_later
            self._parked[run_id] = later(result.wait_ms / 1_000, self.begin, run_id, order)
        return result.outcome == "parked"

    async def _end(self, run_id: str, order: Order, kind: ErrorKind) -> bool:
        for _ in range(END_TRIES):
            result = await self._runner.fail(run_id, order, kind)
            if result.outcome != "busy":
                break
            await asyncio.sleep(result.wait_ms / 1_000)
        return False

    async def _survive(self, run_id: str, work: Coroutine[Any, Any, bool]) -> bool:
        try:
            return await work
        except StoreUnavailable:
            logger.warning("an inline turn found no store", extra={"run_id": run_id})
        except Exception as error:  # noqa: BLE001 - its text may quote the turn; the sweeper takes the run up again
            logger.error("an inline turn raised %s", type(error).__qualname__, extra={"run_id": run_id})  # noqa: TRY400 - see above
        return False

    def _ended(self, run_id: str, task: asyncio.Task[bool]) -> None:
        del self._tasks[run_id]
        again = self._again.pop(run_id, None)
        # Somebody answered while the executor was on its way out: it had looked before, and nobody else is called.
        if again is not None and not task.cancelled() and task.result():
            self.begin(run_id, again)

    def _forget(self, run_id: str) -> None:
        if (timer := self._parked.pop(run_id, None)) is not None:
            timer.cancel()
