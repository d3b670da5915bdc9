"""The circuit breaker before the durable path: a state machine that is told what happened and when.

    closed ──3 failures in 10 s──▶ open ──a probe succeeds──▶ on trial ──a start succeeds──▶ closed
                                    ▲──────────a start or a probe fails────────┘

Open, turns run inline and nobody waits for a dead server. On trial is closed with less patience: a server that answers
probes but starts nothing costs one slow turn for each probe instead of three. It knows no clock; times are monotonic milliseconds.
"""

from dataclasses import dataclass, replace
from typing import Final

FAILURES: Final = 3
WINDOW_MS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """One state. Each method returns the next one. A new breaker is open: nothing is known about the server yet."""

    open: bool = True
    trial: bool = True
    failures: tuple[int, ...] = ()  # when, of those within the window

    def failed(self, now_ms: int) -> "Breaker":
        """A start or a probe failed, or took too long."""
        recent = (*(when for when in self.failures if when > now_ms - WINDOW_MS), now_ms)
        if self.trial or len(recent) >= FAILURES:
            return Breaker()
        return replace(self, failures=recent)

    def probed(self) -> "Breaker":
        """A probe succeeded."""
        return replace(self, open=False) if self.open else self

    def started(self) -> "Breaker":
        """A start succeeded."""
        return Breaker(open=False, trial=False)
