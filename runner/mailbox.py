"""What can happen to a turn while it runs. One queue, read by one loop: the engine sees one event after the other."""

from dataclasses import dataclass

from protocol.checkpoint import ToolResult
from protocol.errors import ProviderError
from protocol.json import Json
from protocol.model import ModelEvent


@dataclass(frozen=True, slots=True)
class FromModel:
    """The model call gave an event."""

    event: ModelEvent


@dataclass(frozen=True, slots=True)
class ModelBroke:
    """The model call failed."""

    error: ProviderError


@dataclass(frozen=True, slots=True)
class NoBudget:
    """The model was not asked: what the call may cost does not fit into the budget."""


@dataclass(frozen=True, slots=True)
class ToolDone:
    """A call gave its result."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """A running call tells how far it is."""

    ordinal: int
    progress: Json


@dataclass(frozen=True, slots=True)
class StopAsked:
    """A stop is recorded."""


@dataclass(frozen=True, slots=True)
class InputPut:
    """Something may lie in the inbox."""


@dataclass(frozen=True, slots=True)
class TimeUp:
    """The turn's time is over."""


@dataclass(frozen=True, slots=True)
class DrainTimeUp:
    """The process is going away and the step took too long: abandon it, another attempt starts it again."""


@dataclass(frozen=True, slots=True)
class ClaimLost:
    """The log takes no more from us: the claim is somebody else's, or the store stayed away too long."""


Report = FromModel | ModelBroke | NoBudget | ToolDone | ToolProgressed
Event = Report | StopAsked | InputPut | TimeUp | DrainTimeUp | ClaimLost
