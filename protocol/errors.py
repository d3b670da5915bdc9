"""Errors a caller can act on.

    TurnkeepError(kind, message)      what a person or a client is told; one kind, one HTTP status
    ├── ProviderError                 a model call failed; carries whether another try may help
    ├── StoreUnavailable              the run's store did not answer: nothing is known about the write, try again by index
    └── LostClaim                     another executor owns the run now: stop at once and write nothing

A message is ours, never a provider's or a server's: addresses, keys and foreign text do not belong in it.
"""

from typing import Literal

from protocol.model import Usage

ErrorKind = Literal[
    "invalid", "unauthenticated", "not_found", "timeout", "conflict", "gone", "too_large", "rate_limited",
    "not_configured", "upstream", "unavailable",
    # only inside a stream: the response has begun, there is no status left to set
    "context_overflow", "max_tokens", "empty_answer", "interrupted", "stopped", "refused", "step_limit", "token_limit",
    "unanswered",
]  # fmt: skip

HTTP_STATUS: dict[str, int] = {
    "invalid": 400, "unauthenticated": 401, "not_found": 404, "timeout": 408, "conflict": 409, "gone": 410,
    "too_large": 413, "rate_limited": 429, "not_configured": 500, "upstream": 502, "unavailable": 503,
}  # fmt: skip

RETRYABLE: frozenset[str] = frozenset({"timeout", "rate_limited", "upstream", "unavailable", "interrupted"})
PASSING: frozenset[str] = RETRYABLE - {"interrupted"}  # of a model call: busy, broken off, silent


class TurnkeepError(Exception):
    """Something a caller is told: `kind` decides the HTTP status, `retryable` what to do next."""

    def __init__(self, kind: ErrorKind, message: str, *, details: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.retryable = kind in RETRYABLE
        self.details = details or {}


class ProviderError(TurnkeepError):
    """A model call failed. `retry_after` is in seconds where the provider named a time, `usage` what it counted so far.

    `passing` says that the same call may succeed a little later. A refusal never passes, nor does a call that used up all the
    time it had (`over`): its successor would, too.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        retry_after: float | None = None,
        usage: Usage | None = None,
        over: bool = False,
    ) -> None:
        super().__init__(kind, message)
        self.retry_after = retry_after
        self.usage = usage or Usage()
        self.passing = kind in PASSING and not over


class StoreUnavailable(TurnkeepError):
    """The store did not answer in time. The write may or may not have happened."""

    def __init__(self, message: str = "The run store does not answer.") -> None:
        super().__init__("unavailable", message)


class LostClaim(TurnkeepError):
    """Somebody else executes the run now, or it has ended."""

    def __init__(self, message: str = "Another executor owns this run.") -> None:
        super().__init__("conflict", message)


def away(error: Exception) -> bool:
    """Whether it says that a part did not answer, rather than that something is wrong with what it was asked."""
    return isinstance(error, TurnkeepError) and error.kind == "unavailable"
