"""What happens in a process, told twice: as metrics and as log lines. Ids and counts, no content, no paths."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Literal

from app.alerts import Alerts
from app.metrics import Metrics
from checkpoints.port import Grip, Order
from protocol.errors import ErrorKind
from protocol.turn import SliceResult, Transport
from runner.port import Job, TurnRunner

logger = logging.getLogger(__name__)

_QUIET_ROUTES: Final = frozenset({"healthz", "readyz", "metrics"})  # asked every few seconds, by machines
_SERVER_FAULT: Final = 500


def nobody(_: Grip) -> None:
    """Is told of a claim and does nothing."""


class RunObserver:
    """Keeps `runner.observe.Observer`. `on_claim` is told of each claim before anything is done with it."""

    def __init__(self, metrics: Metrics, alerts: Alerts, on_claim: Callable[[Grip], None] = nobody) -> None:
        self._metrics = metrics
        self._alerts = alerts
        self._on_claim = on_claim

    def claimed(self, grip: Grip, mode: Transport) -> None:
        self._on_claim(grip)
        self._metrics.claimed(mode)
        logger.info("claimed", extra={"run_id": grip.run_id, "attempt": grip.attempt, "transport": mode})

    def appended(self, frames: int, milliseconds: float) -> None:
        self._metrics.appended(frames, milliseconds / 1_000)

    def handed_over(self, run_id: str, reason: str) -> None:
        self._metrics.handed_over(reason)
        logger.info("handed over", extra={"run_id": run_id, "reason": reason})

    def ended(self, run_id: str, status: str, kind: str) -> None:
        self._metrics.ended(status, kind)
        logger.info("ended", extra={"run_id": run_id, "status": status, "kind": kind})
        self._alerts.ended(run_id, status, kind)

    def model_failed(self, run_id: str, kind: str) -> None:
        self._metrics.model_failed(kind)
        logger.warning("model call failed", extra={"run_id": run_id, "kind": kind})

    def budget(self, decision: Literal["reserved", "over_budget", "unread"]) -> None:
        self._metrics.budget(decision)

    def trouble(self, run_id: str, what: str) -> None:
        self._metrics.trouble()
        logger.warning(what, extra={"run_id": run_id})


def ended_without_executor(metrics: Metrics, alerts: Alerts) -> Callable[[str], None]:
    """Told of a run that ended with nothing left of it but its row."""

    def ended(run_id: str) -> None:
        metrics.ended("interrupted", "interrupted")
        logger.warning("ended: nothing was left of the run", extra={"run_id": run_id})
        alerts.ended(run_id, "interrupted", "interrupted")

    return ended


class HttpMeter:
    """Keeps `api.ports.Meter`; its lines stand in for an access log, which would hold paths and with them handles."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def answered(self, route: str, status: int, elapsed_ms: int) -> None:
        self._metrics.answered(route, status, elapsed_ms / 1_000)
        if route not in _QUIET_ROUTES or status >= _SERVER_FAULT:
            logger.info("answered", extra={"route": route, "status": status, "ms": elapsed_ms})

    def readers(self, open_streams: int) -> None:
        self._metrics.readers(open_streams)


class CountedRunner:
    """A runner whose turns in progress are counted."""

    def __init__(self, runner: TurnRunner, metrics: Metrics) -> None:
        self._runner = runner
        self._metrics = metrics

    async def run(self, job: Job, drain: asyncio.Event) -> SliceResult:
        with self._metrics.running(job.mode).track_inprogress():
            return await self._runner.run(job, drain)

    async def fail(self, run_id: str, order: Order, kind: ErrorKind) -> SliceResult:
        return await self._runner.fail(run_id, order, kind)
