"""What the runner tells about its work: without content for metrics and logs, with content to a turn's own observers."""

from typing import Literal, Protocol

from checkpoints.port import Grip
from protocol.checkpoint import Seal, TurnState
from protocol.json import Json
from protocol.turn import Transport


class Observer(Protocol):
    """Called in the loop; must not block or raise. Durations in milliseconds."""

    def claimed(self, grip: Grip, mode: Transport) -> None: ...

    def appended(self, frames: int, milliseconds: float) -> None: ...

    def handed_over(self, run_id: str, reason: str) -> None: ...

    def ended(self, run_id: str, status: str, kind: str) -> None: ...

    def model_failed(self, run_id: str, kind: str) -> None:
        """A model call failed; whether the turn did is another matter."""
        ...

    def budget(self, decision: Literal["reserved", "over_budget", "unread"]) -> None:
        """A model call asked for its place in the budget."""
        ...

    def trouble(self, run_id: str, what: str) -> None:
        """Something failed that the turn survives, or dies of in a typed way; `what` is a fixed phrase."""
        ...


class TurnObserver(Protocol):
    """Watches a turn from boundary to boundary, whichever process runs it; for collectors of traces, say.

    What it knows is a JSON value in the turn's checkpoint, so a step that is withdrawn is forgotten with it.
    """

    def observe(self, known: Json, state: TurnState) -> Json:
        """What is known after this boundary; `known` is null before the first. A function of its arguments alone."""
        ...

    async def ended(self, run_id: str, known: Json, seal: Seal) -> None:
        """The turn has ended; what this raises is survived.

        Called once, by the executor that appended `finish`, after it; where that executor dies at this very moment, not at all,
        nor for a run of which no seal is left: what was known of it is gone with it.
        """
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

    def model_failed(self, run_id: str, kind: str) -> None:
        pass

    def budget(self, decision: Literal["reserved", "over_budget", "unread"]) -> None:
        pass

    def trouble(self, run_id: str, what: str) -> None:
        pass
