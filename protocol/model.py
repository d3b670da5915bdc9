"""What goes to a model and what comes back, in one vocabulary for every provider.

History is kept in the shape of Anthropic's Messages API: `{"role", "content": [block, …]}`, each block a JSON object kept
as the provider sent it, because providers sign some of them and refuse altered ones.
"""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from protocol.json import Json, JsonObject

StopReason = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal", "context_window"]


class Usage(BaseModel):
    """Tokens of one call, or of a run so far."""

    model_config = ConfigDict(frozen=True)
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def plus(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


class ToolSchema(BaseModel):
    """A tool as a model sees it."""

    model_config = ConfigDict(frozen=True)
    name: str
    description: str
    input_schema: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One model call. Times are in seconds."""

    model: str
    system: str
    messages: tuple[JsonObject, ...]
    history_start: int | None = (
        None  # where this turn's own messages begin: a person may speak more than once in a turn
    )
    tools: tuple[ToolSchema, ...] = ()
    max_tokens: int
    idle_seconds: float
    call_seconds: float
    thinking: bool = False
    fast: bool = False
    attempt: int = 0  # how many calls of this step failed before, of this model
    compact_at: int | None = None  # tokens of input past which the provider may put a summary in place of what is old
    served_tools: tuple[JsonObject, ...] = ()  # tools that the provider runs itself, in its own words
    container: str = ""  # where its tools ran before in this turn


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the current text block."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of the current thinking block."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolInputDelta:
    """More JSON of a tool's input; the first one of an id opens the call."""

    id: str
    name: str
    json: str


@dataclass(frozen=True, slots=True)
class BlockEnded:
    """The current block is complete. `signature` belongs to a thinking block."""

    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Compacted:
    """The provider put a summary in place of older messages. It is among the blocks of `Stopped.content`."""


@dataclass(frozen=True, slots=True)
class ServedCall:
    """The model called a tool that the provider runs."""

    id: str
    name: str
    input: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedResult:
    """What such a tool gave; `error`, in our words, where it gave none. The call may be of an earlier message."""

    id: str
    name: str
    output: Json = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """A source that the text before it rests on: a page where there is a `url`, else a document."""

    title: str
    url: str = ""
    media_type: str = "text/plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The call is complete. `content` holds the assistant's blocks verbatim, for the history.

    `details` says more about a refusal, in the provider's words: it is for operators. `fast`: it was charged as fast.
    """

    reason: StopReason
    content: tuple[JsonObject, ...]
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    details: dict[str, str] = field(default_factory=dict)
    fast: bool = False
    container: str = ""


@dataclass(frozen=True, slots=True)
class Metered:
    """What the call has used so far, as the provider counts it. Not part of the answer."""

    usage: Usage


ModelEvent = (
    TextDelta | ThinkingDelta | ToolInputDelta | BlockEnded | ServedCall | ServedResult | Cited | Compacted | Stopped
)
ProviderEvent = ModelEvent | Metered
