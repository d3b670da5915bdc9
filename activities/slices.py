"""The bodies of the activities that `workflows/signatures.py` names.

* A slice that was committed is not run again: its result is in the run's store, because the server forgets a completion
  that could not be delivered for some ten seconds (C17).
* Being cancelled stops nobody who holds the claim (C4). The server cancels an attempt that it took for dead, and the
  attempt may be healthy: it goes on, and its successor finds the run busy until the lease or the slice is over. Only the
  shutdown of the worker, its grace period used up, ends an executor.
* A cancelled workflow is a stopped run: the stop is recorded, and the runner sees it like any other. A terminated one is
  not, though the server tells its activities the same: its run is taken up under the next generation (FR49).
* What crosses to the server is a kind, never a text: exceptions quote what people wrote (C12).
"""

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from typing import Final, Protocol

from temporalio import activity
from temporalio.client import WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError

from checkpoints.port import Order, RunStore
from protocol.errors import StoreUnavailable, TurnkeepError
from protocol.turn import FailInput, SliceInput, SliceResult
from runner.port import Job, TurnRunner

logger = logging.getLogger(__name__)

BEATS: Final = 5  # heartbeats within the timeout: four may be lost or late
ASK_SECONDS: Final = 2.0


async def workflow_open() -> bool:
    """Whether the workflow of the current activity is open, for all that its server says."""
    info = activity.info()
    handle = activity.client().get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
    try:
        description = await asyncio.wait_for(handle.describe(), ASK_SECONDS)
    except (RPCError, TimeoutError):
        return True
    return description.status is WorkflowExecutionStatus.RUNNING


class Witness(Protocol):
    """Is told which activities this process executes, by their task tokens. Must not block or raise."""

    def begun(self, token: bytes, run_id: str) -> None: ...

    def ended(self, token: bytes) -> None: ...


class Nobody:
    """The witness of a worker that nobody watches."""

    def begun(self, token: bytes, run_id: str) -> None:
        pass

    def ended(self, token: bytes) -> None:
        pass


class SliceActivities:
    """The activities of one worker process. `drain` asks every slice to hand over at its next boundary."""

    def __init__(
        self,
        *,
        runner: TurnRunner,
        store: RunStore,
        drain: asyncio.Event,
        is_open: Callable[[], Awaitable[bool]] = workflow_open,
        witness: Witness | None = None,
    ) -> None:
        self._runner = runner
        self._store = store
        self._is_open = is_open
        self._witness = witness or Nobody()
        self.drain = drain

    @activity.defn
    async def run_slice(self, order: SliceInput) -> SliceResult:
        with _kinds_only(), self._witnessed(order.run_id):
            async with _beating():
                return await self._run_slice(order)

    @activity.defn
    async def fail_turn(self, order: FailInput) -> SliceResult:
        # The next slice's order is above every attempt of the failed one, and below those of whoever adopted the run.
        claim = Order(order.generation, order.slice + 1, activity.info().attempt)
        with _kinds_only(mendable=True), self._witnessed(order.run_id):
            async with _beating():
                return await self._runner.fail(order.run_id, claim, order.kind)

    @contextmanager
    def _witnessed(self, run_id: str) -> Iterator[None]:
        token = activity.info().task_token
        self._witness.begun(token, run_id)
        try:
            yield
        finally:
            self._witness.ended(token)

    async def _run_slice(self, order: SliceInput) -> SliceResult:
        committed = await self._store.committed(order.run_id, order.generation, order.slice)
        if committed is not None:
            return SliceResult.model_validate_json(committed)
        if self.drain.is_set():
            # Delivered while polling came to its end: nothing is begun here that would have to end at once.
            return SliceResult(outcome="handed_over", reason="draining")
        if order.stop:
            await self._store.stop(order.run_id)
        attempt = Order(order.generation, order.slice, activity.info().attempt)
        job = Job(run_id=order.run_id, order=attempt, mode="workflow", slice_ms=order.slice_ms)
        return await self._attend(order.run_id, asyncio.create_task(self._runner.run(job, self.drain)))

    async def _attend(self, run_id: str, work: asyncio.Task[SliceResult]) -> SliceResult:
        """The work's result, whoever is cancelled meanwhile."""
        while True:
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                details = activity.cancellation_details()
                if details is None or details.worker_shutdown:
                    return await _abandon(work)
                if details.cancel_requested and await self._is_open():
                    await self._record_stop(run_id)

    async def _record_stop(self, run_id: str) -> None:
        try:
            await self._store.stop(run_id)
        except StoreUnavailable:
            # The executor holds a claim in the same store: it is about to fail too, and the next slice brings the stop.
            logger.warning("a cancelled workflow's stop could not be recorded", extra={"run_id": run_id})


async def _abandon(work: asyncio.Task[SliceResult]) -> SliceResult:
    """End the executor: its worker is about to exit. Where it had no result yet, the server starts the next attempt at once."""
    work.cancel()
    with suppress(asyncio.CancelledError):
        return await work
    raise ApplicationError("draining", type="draining", category=ApplicationErrorCategory.BENIGN)


@asynccontextmanager
async def _beating() -> AsyncIterator[None]:
    """Heartbeats from a task of their own: a step may take minutes, and says nothing meanwhile."""
    limit = activity.info().heartbeat_timeout or timedelta(seconds=5)
    beats = asyncio.create_task(_beat(limit.total_seconds() / BEATS))
    try:
        yield
    finally:
        beats.cancel()


async def _beat(seconds: float) -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(seconds)


@contextmanager
def _kinds_only(*, mendable: bool = False) -> Iterator[None]:
    """Turn every exception into a failure that carries a kind. `mendable` never fails for good, whatever the kind."""
    try:
        yield
    except ApplicationError:
        raise
    except TurnkeepError as error:
        raise _failure(error.kind, permanent=not error.retryable and not mendable) from None
    except Exception as error:  # noqa: BLE001 - whatever it is, its text must not cross
        # A fault of ours. Another build may not have it, and the claim counts the attempts (C16). Where it happened is
        # logged, what it says is not: it may quote the turn.
        places = "".join(traceback.format_tb(error.__traceback__))
        logger.error("a slice raised %s\n%s", type(error).__qualname__, places)  # noqa: TRY400 - a traceback quotes
        raise _failure("interrupted", permanent=False) from None


def _failure(kind: str, *, permanent: bool) -> ApplicationError:
    return ApplicationError(kind, type=kind, non_retryable=permanent, category=ApplicationErrorCategory.BENIGN)
