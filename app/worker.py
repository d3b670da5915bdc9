"""A worker process: durable turns, slice by slice, until it is told to stop."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from prometheus_client import start_http_server
from temporalio.client import Client

from activities.slices import SliceActivities
from activities.worker import WorkerSettings, run_worker
from app.compose import Compose, Core, core
from app.compose_care import care_parts
from app.holdings import Report
from app.metrics import Metrics
from app.observe import nobody
from app.process import leave_in_time
from app.quarantine import COMMAND, Quarantine
from app.settings import Settings
from dispatch.caretaker import Caretaker
from dispatch.inline import InlineTurns
from dispatch.starter import Starter
from dispatch.temporal import Workflows
from runner.port import TurnRunner
from workflows.connection import answers, connect

logger = logging.getLogger(__name__)

# Workers are not versioned: a turn must be able to go on under the next build. What may not replay is guarded in the workflow.
BUILD = "turnkeep"
_PAUSE_SECONDS = 0.5


async def work(
    settings: Settings,
    ready_fd: int | None,
    report: Report | None = None,
    *,
    compose: Compose = core,
    alone: Sequence[str] = COMMAND,
) -> None:
    """Run turns until SIGTERM. Raises what ended the worker otherwise.

    A byte is written to `ready_fd` once turns can be taken, `report` is told what is held. `alone` is the command that runs a
    suspect turn in a process of its own.
    """
    async with compose(settings) as parts:
        if settings.worker_metrics_port:
            _serve_metrics(settings, parts.metrics)
        client = await _temporal(settings)
        on_claim = report.claimed if report else nobody
        counted = parts.runner(parts.store, parts.outbox, reachable=lambda: answers(client), on_claim=on_claim)
        runner = Quarantine(counted, parts.store, on_claim, alone)
        activities = SliceActivities(runner=runner, store=parts.store, drain=asyncio.Event(), witness=report)
        limits = WorkerSettings(
            task_queue=settings.task_queue,
            build_id=BUILD,
            turns=settings.worker_turns,
            grace_seconds=settings.grace_ms / 1_000,
        )
        async with _caring(parts, client, runner, activities.drain):
            working = asyncio.create_task(run_worker(client, activities, limits))
            await asyncio.sleep(0)  # it is polling, or has failed
            if not working.done():
                _announce(ready_fd)
            beating = asyncio.create_task(report.beat()) if report else None
            try:
                await working
            finally:
                if beating is not None:
                    beating.cancel()


@asynccontextmanager
async def _caring(core: Core, client: Client, runner: TurnRunner, drain: asyncio.Event) -> AsyncIterator[None]:
    """Look after runs without an executor, until the worker is told to stop: all API processes may be gone."""

    async def connected() -> Client:
        return client

    async def leave() -> None:
        await drain.wait()
        leave_in_time(core.settings)
        await inline.drain(core.settings.grace_ms / 1_000)

    inline = InlineTurns(runner)
    workflows = Workflows(connected, task_queue=core.settings.task_queue, start_seconds=core.settings.start_ms / 1_000)
    leaving = asyncio.create_task(leave())
    try:
        async with Caretaker(care_parts(core, workflows), Starter(workflows, core.clock), inline):
            yield
        if drain.is_set():
            await leaving
    finally:
        leaving.cancel()


async def _temporal(settings: Settings) -> Client:
    """A client, as soon as there is a server: a worker may be started before it."""
    while True:
        try:
            return await connect(settings.temporal_address, namespace=settings.temporal_namespace)
        except ConnectionError:
            logger.warning("waiting for Temporal")
            await asyncio.sleep(_PAUSE_SECONDS)


def _serve_metrics(settings: Settings, metrics: Metrics) -> None:
    try:
        start_http_server(settings.worker_metrics_port, settings.host, metrics.registry)
    except OSError:
        logger.warning("port %d is taken, probably by another worker: no metrics here", settings.worker_metrics_port)


def _announce(ready_fd: int | None) -> None:
    logger.info("ready")
    if ready_fd is not None:
        os.write(ready_fd, b".")
        os.close(ready_fd)
