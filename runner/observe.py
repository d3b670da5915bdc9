"""What the runner tells about its work, without content: for metrics and logs."""

from typing import Protocol

from checkpoints.port import Grip
from protocol.turn import Transport


class Observer(Protocol):
    """Called in the loop; must not block or raise. Durations in milliseconds."""

    def claimed(self, grip: Grip, mode: Transport) -> None: ...

    def appended(self, frames: int, milliseconds: float) -> None: ...

    def handed_over(self, run_id: str, reason: str) -> None: ...

    def ended(self, run_id: str, status: str, kind: str) -> None: ...

    def trouble(self, run_id: str, what: str) -> None:
        """Something failed that the turn survives, or dies of in a typed way; `what` is a fixed phrase."""
        ...


class Silent:
    """An observer for whom nothing is worth a word."""

    def claimed(self, grip: Grip, mode: Transport) -> None:
        pass

    def appended(self, frames: int, milliseconds: float) -> None:
        pass

    def handed_over(self, run_id: str, reason: str) -> None:
        pass

    def ended(self, run_id: str, status: str, kind: str) -> None:
        pass

    def trouble(self, run_id: str, what: str) -> None:
        pass
