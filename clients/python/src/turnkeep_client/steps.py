"""What the pure part asks of the shell that does its I/O, and what it tells the caller."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnkeep_client.fold import Frame


@dataclass(frozen=True, slots=True)
class Send:
    """Send this request; answer with a `Reply`, or None where none came. It takes the place of the reply read before."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    json: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of an answer. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Read:
    """Answer with the next bytes of the reply, or None where it ended, was cut or has been silent for too long."""


@dataclass(frozen=True, slots=True)
class ReadAll:
    """Answer with the rest of the reply, or None where it was cut."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait, at most this long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Event:
    """A frame and its index in the run's log."""

    index: int
    frame: Frame

    @property
    def type(self) -> str:
        return str(self.frame["type"])

    @property
    def text(self) -> str:
        """What this frame adds to the text of the answer, mostly nothing."""
        return str(self.frame["delta"]) if self.type == "text-delta" else ""


Effect = Send | Read | ReadAll | Pause
Steps = Generator[Effect | Event, Any, None]
