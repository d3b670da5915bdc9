"""The state of a turn, which is its checkpoint (v: 1).

The engine works on this value and nothing else; written as JSON at a boundary, it is all that another process needs to go
on. What belongs to a step that the model has not finished is the engine's `OpenStep` and is never written.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from protocol.json import Json, JsonObject
from protocol.model import Usage
from protocol.turn import RunStatus, Stored

Phase = Literal["fresh", "open", "asked", "settled"]
# fresh: nothing emitted · open: start-step emitted, the model not finished · asked: message and intents committed, tools to
# run or to be decided · settled: the outcome is decided, seal and tail are to be written


class ToolCall(Stored):
    """A tool the model asked for. `id` names it in frames, `provider_id` in the history. (step, ordinal) is its ledger key."""

    step: int
    ordinal: int
    id: str
    provider_id: str
    name: str
    input: JsonObject = Field(default_factory=dict)
    error: str = ""  # the input could not be read: the tool is not called, the model is told this
    waits: Literal["", "approval", "question"] = ""  # for a person, before it is called or instead of being called


class ToolResult(Stored):
    """What a call gave. `output` goes to the reader, `text` to the model."""

    ordinal: int
    text: str
    output: Json = None
    artifacts: tuple[JsonObject, ...] = ()  # what it presented: the data of its frames, each with an `id`
    error: bool = False
    unknown: bool = False  # it was started, and nobody knows what came of it
    denied: bool = False  # a person said no: the tool was not called


class Steered(Stored):
    """What a person said to a run under way, until the next request to the model takes it along."""

    id: str
    text: str


class Trying(Stored):
    """How the asking of an open step goes, once a call of it failed; committed with what withdraws that call's frames."""

    tries: int = 0  # calls that failed, of the model that is asked now
    not_before_ms: int = 0  # wall clock: when the next call may begin
    squeezed: bool = False  # the history was cut because the model found it too long


class Outcome(Stored):
    """How the run ends. `kind` and `message` are set where it is an error."""

    status: RunStatus
    finish_reason: Literal["stop", "length", "content-filter", "error", "other"]
    kind: str = ""
    message: str = ""
    details: dict[str, str] = Field(default_factory=dict)  # of a refusal, in the provider's words: not for readers


class Message(Stored):
    """The answer as clients hold it: an AI SDK UI message."""

    id: str
    role: Literal["assistant"] = "assistant"
    parts: tuple[JsonObject, ...] = ()


def words_of(parts: Sequence[JsonObject]) -> str:
    """All text of a message's parts, as a person reads it."""
    return "".join(str(part["text"]) for part in parts if part["type"] == "text")


class TurnState(Stored):
    """Everything a turn knows at a boundary."""

    v: Literal[1] = 1
    run_id: str
    message: Message
    history: tuple[JsonObject, ...] = ()  # as sent to the model
    history_start: int = 0  # where this turn's own messages begin in `history`
    phase: Phase = "fresh"
    step: int = 0
    texts: int = 0  # how many text parts were opened, names the next one
    thoughts: int = 0
    last_text: str = ""  # the last character shown, for the joining space
    calls: tuple[ToolCall, ...] = ()  # of the current step, while it is asked
    repeated_call: str = ""  # a digest of the last step's calls and results, to end a loop that makes no progress
    repeats: int = 0
    taken: int = 0  # how many inputs of the inbox are in this state
    steering: tuple[Steered, ...] = ()
    deadline_ms: int = 0  # wall clock: when the asked step's waiting ends, 0 where it waits for nobody
    usage: Usage = Usage()
    model: str = ""  # who answered last
    definition: str = ""  # the fingerprint of the assistant that it runs under
    fallback: int = 0  # who is asked: 0 the plan's own model, n the nth of its fallbacks
    foreign: int = 0  # so many messages of `history` hold thoughts that the model asked now cannot take
    trying: Trying = Trying()
    container: str = ""  # where the provider's own tools run, while they do
    elapsed_ms: int = 0  # over all slices
    outcome: Outcome | None = None
    observed: dict[str, Json] = Field(default_factory=dict)  # what each observer of the turn knows, by its name


class LedgerEntry(Stored):
    """What is known of one tool call. `shown`: its output frame is in the log, written together with this entry."""

    state: Literal["intended", "approved", "started", "finished", "shown"]
    tool: str = ""  # its name, for people who look at the ledger
    result: ToolResult | None = None


class Seal(Stored):
    """The decided outcome of a run: everything that the records need, so that anyone can write them."""

    v: Literal[1] = 1
    outcome: Outcome
    message: Message
    provider: tuple[JsonObject, ...] = ()  # the turn's own history, for the prompt of the next turn
    usage: Usage = Usage()
    model: str = ""
    steps: int = 0
    observed: dict[str, Json] = Field(default_factory=dict)
