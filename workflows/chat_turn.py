"""The workflow of one run: slices, one after the other, until the run has ended. Its id is the run's.

 * It decides where the run goes on and when it is given up, never what a turn does. Ids, counters and kinds are all that
   passes through here, so they are all that history holds (LAW-P6).
 * Crash recovery is the activity's retry policy, which the server applies by itself: a loop in here would first wait for
   the sticky queue of the dead worker to be given up.
 * Another executor may own the run (an inline one, a head start, an older attempt). The workflow then waits for it and
   asks again, and completes only when the run has ended or a later generation took it over (C8).
 * Signals carry nothing: what a person wrote lies in the run's store and is read there (C12).
 * A parked run is a timer and nothing else: no activity, no event, until a signal wakes it or the time to answer is over.
 * An operator's cancellation means what Stop means. It is recorded with the run, which then ends like any stopped one.

It runs outside the SDK's sandbox, which costs 2 ms of each start and guards against imports that this package's import rules
forbid anyway.
"""

import asyncio
from datetime import timedelta
from typing import Final, assert_never, cast, get_args

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.workflow import ActivityCancellationType

from protocol.errors import ErrorKind
from protocol.turn import ChatTurnInput, FailInput, SliceInput, SliceResult
from workflows import signatures

# The slice's own deadline is kept by the runner, at a boundary. This bound is for one that hangs with a beating heart, and
# lies beyond the longest step (a model call of ten minutes, then its tools): a healthy slice must not be run twice.
STEP_MARGIN: Final = timedelta(minutes=15)
SLICE_RETRIES: Final = RetryPolicy(
    initial_interval=timedelta(milliseconds=100), backoff_coefficient=1, maximum_interval=timedelta(seconds=1)
)
FAIL_TIMEOUT: Final = timedelta(seconds=60)  # it writes a few frames and rows, nothing else
FAIL_RETRIES: Final = RetryPolicy(
    initial_interval=timedelta(milliseconds=100), backoff_coefficient=2, maximum_interval=timedelta(seconds=10)
)
SHORTEST_WAIT_MS: Final = 50  # a lease about to lapse must not become a busy loop in history
LONGEST_WAIT_MS: Final = 5_000  # leases are shorter; one that claims otherwise is asked again


@workflow.defn(name="ChatTurn", sandboxed=False, failure_exception_types=[Exception])
class ChatTurn:
    """One run from its first slice to its end. A failure in this code ends the workflow: the sweeper adopts the run."""

    @workflow.init
    def __init__(self, turn: ChatTurnInput) -> None:
        self._turn = turn
        self._slice = turn.slice
        self._woken = turn.woken
        self._stop = False
        self._given_up: ErrorKind | None = None  # the kind of the failure that no other slice can mend

    @workflow.signal
    def stop(self) -> None:
        """A stop was recorded with the run."""
        self._woken = True

    @workflow.signal
    def input(self) -> None:
        """Something lies in the run's inbox."""
        self._woken = True

    @workflow.run
    async def run(self, turn: ChatTurnInput) -> SliceResult:
        activities = 0
        while (result := await self._advance()) is None:
            activities += 1
            long = activities >= turn.max_slices or workflow.info().is_continue_as_new_suggested()
            if long and not self._stop:  # the next slice takes the stop along, the next history would not
                workflow.continue_as_new(turn.model_copy(update={"slice": self._slice, "woken": self._woken}))
        return result

    async def _advance(self) -> SliceResult | None:
        """Run one activity and do what follows from it. None where another is due."""
        try:
            result = await (self._fail_turn(self._given_up) if self._given_up else self._run_slice())
            return await self._follow(result)
        except asyncio.CancelledError:
            self._stop = True
        except ActivityError as error:
            # Retries have no end: an activity fails here for good, or because the workflow was cancelled meanwhile.
            self._given_up = self._given_up or _permanent(error)
            self._stop = self._stop or not self._given_up
        return None

    async def _follow(self, result: SliceResult) -> SliceResult | None:
        match result.outcome:
            case "ended" | "stale" | "missing":
                return result
            case "exhausted":
                self._given_up = "interrupted"
            case "handed_over":
                self._slice += 1
            case "busy":
                await self._pause(min(max(result.wait_ms, SHORTEST_WAIT_MS), LONGEST_WAIT_MS))
                # As another slice: attempts are counted from 1 again, and of this one a higher attempt may have claimed. It
                # died, and everyone after it would be stale (C4).
                self._slice += 1
            case "parked":
                self._slice += 1
                # A wake-up that came while the slice still ran counts: what it is about may have come after the last look.
                await self._pause(max(result.wait_ms, SHORTEST_WAIT_MS))
            case _:
                assert_never(result.outcome)
        return None

    async def _pause(self, wait_ms: int) -> None:
        try:
            await workflow.wait_condition(lambda: self._woken, timeout=timedelta(milliseconds=wait_ms))
        except TimeoutError:
            return
        self._woken = False

    async def _run_slice(self) -> SliceResult:
        turn = self._turn
        return await workflow.execute_activity(
            signatures.run_slice,
            SliceInput(
                run_id=turn.run_id,
                generation=turn.generation,
                slice=self._slice,
                slice_ms=turn.slice_ms,
                stop=self._stop,
            ),
            start_to_close_timeout=timedelta(milliseconds=turn.slice_ms) + STEP_MARGIN,
            heartbeat_timeout=timedelta(milliseconds=turn.heartbeat_ms),
            retry_policy=SLICE_RETRIES,
            cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )

    async def _fail_turn(self, kind: ErrorKind) -> SliceResult:
        turn = self._turn
        return await workflow.execute_activity(
            signatures.fail_turn,
            FailInput(run_id=turn.run_id, generation=turn.generation, slice=self._slice, kind=kind),
            start_to_close_timeout=FAIL_TIMEOUT,
            heartbeat_timeout=timedelta(milliseconds=turn.heartbeat_ms),  # its worker may die, too
            retry_policy=FAIL_RETRIES,
            cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )


def _permanent(error: ActivityError) -> ErrorKind | None:
    """The kind of a failure that no other attempt can mend."""
    cause = error.cause
    if not isinstance(cause, ApplicationError) or not cause.non_retryable:
        return None
    return cast("ErrorKind", cause.type) if cause.type in get_args(ErrorKind) else "interrupted"
