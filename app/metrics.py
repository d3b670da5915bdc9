"""What a process counts, in Prometheus' terms. One registry per process; the scraper adds them up.

A label never holds an id, an owner or a path: each is one of a few words of ours.
"""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from dispatch.decide import Decision
from dispatch.switch import Switch
from protocol.turn import Transport

_APPEND_SECONDS = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_ANSWER_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0)


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._running = Gauge("turnkeep_turns_running", "Turns executed here now", ["transport"], registry=registry)
        self._claimed = Counter(
            "turnkeep_claims", "Claims won; more than one for a turn that moved", ["transport"], registry=registry
        )
        self._ended = Counter("turnkeep_turns_ended", "Turns ended here", ["status", "kind"], registry=registry)
        self._handed_over = Counter("turnkeep_hand_overs", "Slices handed over", ["reason"], registry=registry)
        self._model_failed = Counter(
            "turnkeep_model_failures",
            "Model calls that failed, also where another one helped",
            ["kind"],
            registry=registry,
        )
        self._trouble = Counter("turnkeep_trouble", "Things that failed and were survived", registry=registry)
        self._budget = Counter(
            "turnkeep_budget", "Model calls that asked for their place in the budget", ["decision"], registry=registry
        )
        self._frames = Counter("turnkeep_frames_appended", "Frames appended to logs", registry=registry)
        self._append = Histogram(
            "turnkeep_append_seconds", "Round trip of an append", buckets=_APPEND_SECONDS, registry=registry
        )
        self._readers = Gauge("turnkeep_readers", "Open streams", registry=registry)
        self._answers = Histogram(
            "turnkeep_answer_seconds",
            "Requests until the response begins",
            ["route", "status"],
            buckets=_ANSWER_SECONDS,
            registry=registry,
        )
        self._decisions = Counter(
            "turnkeep_decisions", "Where turns were sent, and why", ["transport", "reason"], registry=registry
        )
        self._percent = Gauge("turnkeep_switch_percent", "Share of turns sent to Temporal", registry=registry)
        self._breaker = Gauge("turnkeep_breaker_open", "1 while Temporal is taken to be away", registry=registry)
        self._late = Gauge("turnkeep_late_answers", "Answers that the records have not taken yet", registry=registry)
        self._allowed = Gauge("turnkeep_switch_allowed", "Owners named in the switch", registry=registry)

    def exposition(self) -> bytes:
        """All of it as text, for `/metrics`."""
        return generate_latest(self.registry)

    def watch_breaker(self, is_open: Callable[[], bool]) -> None:
        """Ask this whenever somebody looks."""
        self._breaker.set_function(lambda: float(is_open()))

    def running(self, transport: Transport) -> Gauge:
        """The gauge of turns on a transport."""
        return self._running.labels(transport)

    def claimed(self, transport: Transport) -> None:
        self._claimed.labels(transport).inc()

    def ended(self, status: str, kind: str) -> None:
        self._ended.labels(status, kind).inc()

    def handed_over(self, reason: str) -> None:
        self._handed_over.labels(reason).inc()

    def model_failed(self, kind: str) -> None:
        self._model_failed.labels(kind).inc()

    def budget(self, decision: str) -> None:
        self._budget.labels(decision).inc()

    def trouble(self) -> None:
        self._trouble.inc()

    def appended(self, frames: int, seconds: float) -> None:
        self._frames.inc(frames)
        self._append.observe(seconds)

    def readers(self, open_streams: int) -> None:
        self._readers.set(open_streams)

    def answered(self, route: str, status: int, seconds: float) -> None:
        self._answers.labels(route, str(status)).observe(seconds)

    def decided(self, decision: Decision) -> None:
        self._decisions.labels(decision.transport, decision.reason).inc()

    def late(self, answers: int) -> None:
        self._late.set(answers)

    def switched(self, switch: Switch) -> None:
        self._percent.set(switch.percent)
        self._allowed.set(len(switch.allow))
