"""Keeps a turn that may be poison away from all others: it runs alone, in a process that only it can take down (C16).

* Suspect is a run that two executors died of without a step forward. So a turn that kills whoever executes it ends two
workers; what follows, until it is given up, and its end, happen here.
* Innocent turns that were on those workers come here, too, and just go on: they cost the start of a process.
* The activity stays with the worker, which is alive to answer for it: the next attempt need not wait for a timeout.
* A process that ends before it has claimed the run did not die of it. No claim counts such attempts, and they would be made
for ever: the worker does it itself.
"""

import asyncio
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from typing import Final

from app.alone import Errand, News
from app.stack.part import LEASH
from checkpoints.port import Grip, Order, RunStore
from protocol.errors import ErrorKind, TurnkeepError
from protocol.turn import SliceResult
from runner.port import Job, TurnRunner

logger = logging.getLogger(__name__)

COMMAND: Final = (sys.executable, "-m", "app", "worker", "--alone")
FIRST: Final = Order(1, 1, 1)
_PLACES: Final = 4  # processes at once; who finds none waits, with its lease free and its activity alive
_SILENCE_SECONDS: Final = 30.0  # it says something every second: this is a start on a very busy machine


class Quarantine:
    """A runner that sends suspect turns away. `on_claim` is told of the claims won there."""

    def __init__(
        self,
        runner: TurnRunner,
        store: RunStore,
        on_claim: Callable[[Grip], None],
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._runner = runner
        self._store = store
        self._on_claim = on_claim
        self._command = command
        self._places = asyncio.Semaphore(_PLACES)

    async def run(self, job: Job, drain: asyncio.Event) -> SliceResult:
        # Nobody can have died of a turn that nobody had before: most turns need no look.
        if job.order == FIRST or not await self._suspect(job.run_id):
            return await self._runner.run(job, drain)
        errand = Errand(run_id=job.run_id, order=job.order.key, slice_ms=job.slice_ms)
        return await self._send(errand, drain) or await self._runner.run(job, drain)

    async def fail(self, run_id: str, order: Order, kind: ErrorKind) -> SliceResult:
        if not await self._suspect(run_id):
            return await self._runner.fail(run_id, order, kind)
        errand = Errand(run_id=run_id, order=order.key, kind=kind)
        return await self._send(errand, asyncio.Event()) or await self._runner.fail(run_id, order, kind)

    async def _suspect(self, run_id: str) -> bool:
        view = await self._store.view(run_id)
        return view is not None and view.deaths > 0 and not view.lease_ms

    async def _send(self, errand: Errand, drain: asyncio.Event) -> SliceResult | None:
        async with self._places:
            if drain.is_set():
                return SliceResult(outcome="handed_over", reason="draining")
            logger.warning("runs alone", extra={"run_id": errand.run_id})
            process = await self._start(errand)
            telling = asyncio.create_task(_pass_on(drain, process))
            try:
                return await self._follow(errand.run_id, process)
            finally:
                telling.cancel()

    async def _start(self, errand: Errand) -> Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", LEASH, str(os.getpid()), *self._command, errand.model_dump_json()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            start_new_session=True,
        )

    async def _follow(self, run_id: str, process: Process) -> SliceResult | None:
        """The errand's result, None where the process came to no claim. Raises TurnkeepError where it failed, died or hung."""
        grip: Grip | None = None
        try:
            while news := await _news(process.stdout):
                if news.result is not None:
                    grip = None
                    return news.result
                if news.failed is not None:
                    raise TurnkeepError(news.failed, "The slice failed.")
                if news.owner:
                    grip = Grip(run_id, news.attempt, news.owner)
                    self._on_claim(grip)
        finally:
            await _end(process)
            if grip is not None:
                await self._store.renew(grip, 0)  # the next attempt need not wait for a dead one's lease
        if grip is None:
            logger.warning("a process of its own did not begin", extra={"run_id": run_id})
            return None
        raise TurnkeepError("interrupted", "The turn's own process died.")


async def _news(channel: asyncio.StreamReader | None) -> News | None:
    """The next of it. None where there is none, because the process has ended or hangs."""
    try:
        line = await asyncio.wait_for(channel.readline(), _SILENCE_SECONDS) if channel else b""
    except TimeoutError:
        return None
    return News.model_validate_json(line) if line else None


async def _pass_on(drain: asyncio.Event, process: Process) -> None:
    await drain.wait()
    if process.returncode is None:
        process.terminate()


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()
