"""Starting workflows, with a bound on every call: this is the API's side, and somebody is waiting.

* A start names its run: the workflow id is the run id, so repeating a start is joining it, and a closed workflow is never
  followed by another one under the same id.
* A start that raised or took too long may have happened. Whoever runs the turn instead has to win the claim first.
* "Already started" is success only where `describe` says that it runs (C8).
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from enum import Enum
from typing import Final

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RetryConfig, RPCError, RPCStatusCode

from protocol.turn import ChatTurnInput
from workflows.chat_turn import ChatTurn
from workflows.connection import answers

# The SDK's own retries hide a dead server for ten seconds. Zero does not mean none: it means the default.
API_RETRIES: Final = RetryConfig(max_retries=2, max_elapsed_time_millis=500)
START_SECONDS: Final = 0.75
TASK_TIMEOUT: Final = timedelta(seconds=5)  # how long a worker that died in a workflow task delays its run


class Started(Enum):
    """What became of a start."""

    RUNNING = "running"
    CLOSED = "closed"  # there was one, and nothing says that it still runs
    UNKNOWN = "unknown"  # it failed, or was accepted and nobody told us


class Workflows:
    """The workflows of runs. `connect` makes a client and raises ConnectionError, within its own bound."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Client]],
        *,
        task_queue: str,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self._connect = connect
        self._task_queue = task_queue
        self._start_seconds = start_seconds
        self._client: Client | None = None

    async def probe(self) -> bool:
        """Whether the server answers. Connects where there is no client yet; an old client finds its server again."""
        try:
            if self._client is None:
                self._client = await self._connect()
        except ConnectionError:
            return False
        return await answers(self._client)

    async def start(self, turn: ChatTurnInput) -> Started:
        """Start the run's workflow, or join it. Never raises for a server that is away or slow."""
        if self._client is None:
            return Started.UNKNOWN
        call = self._client.start_workflow(
            ChatTurn.run,
            turn,
            id=workflow_id(turn.run_id, turn.generation),
            task_queue=self._task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            task_timeout=TASK_TIMEOUT,
        )
        try:
            await asyncio.wait_for(call, self._start_seconds)
        except WorkflowAlreadyStartedError:
            return Started.RUNNING if await self.running(turn.run_id, turn.generation) else Started.CLOSED
        except (RPCError, TimeoutError):
            return Started.UNKNOWN
        return Started.RUNNING

    async def wake(self, run_id: str, generation: int) -> bool:
        """Tell the run's workflow to look. False where it is closed or the server does not say that it was told."""
        if self._client is None:
            return False
        handle = self._client.get_workflow_handle(workflow_id(run_id, generation))
        try:
            await asyncio.wait_for(handle.signal(ChatTurn.input), self._start_seconds)
        except (RPCError, TimeoutError):
            return False
        return True

    async def running(self, run_id: str, generation: int) -> bool | None:
        """Whether the run's workflow is open. None where the server does not say."""
        if self._client is None:
            return None
        handle = self._client.get_workflow_handle(workflow_id(run_id, generation))
        try:
            description = await asyncio.wait_for(handle.describe(), self._start_seconds)
        except RPCError as error:
            return False if error.status is RPCStatusCode.NOT_FOUND else None
        except TimeoutError:
            return None
        return description.status is WorkflowExecutionStatus.RUNNING


def workflow_id(run_id: str, generation: int) -> str:
    """The run's id, and from the second generation on a name of its own: a closed id is never taken again."""
    return run_id if generation == 1 else f"{run_id}.{generation}"
