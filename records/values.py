"""What goes into the records and comes out of them. Times are milliseconds since the epoch."""

from dataclasses import dataclass, field
from typing import Literal

from protocol.json import JsonObject
from protocol.model import Usage
from protocol.turn import RunStatus, Transport

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A conversation and who asks for it. Foreign, unknown and deleted conversations look the same to every query."""

    owner: str
    conversation_id: str
    tenant: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a message stands. Who asks is not looked at: it is the run itself."""

    tenant: str
    conversation_id: str
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBegin:
    """A turn that wants to begin. `parts` is the user's message as an AI SDK UI message holds it."""

    key: Key
    run_id: str
    assistant: str
    user_message_id: str
    message_id: str  # of the answer
    parts: tuple[JsonObject, ...]
    now_ms: int
    create_if_missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run row. `sequence` is the user's message's, the answer takes the next one; `kind` says what failed."""

    run_id: str
    tenant: str
    owner: str
    conversation_id: str
    assistant: str
    user_message_id: str
    message_id: str
    sequence: int
    status: RunStatus
    kind: str
    transport: Transport | Literal[""]  # "" before an executor took it
    memory: bool  # it runs, or ran, on a log no other process can see: nobody else may claim it (C6)
    created_ms: int
    updated_ms: int
    ended_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs to list: all where nothing is said. `state` is a RunStatus, or "unfinished" for those that have not ended."""

    tenant: str = ""
    owner: str = ""
    state: RunStatus | Literal["", "unfinished"] = ""


@dataclass(frozen=True, slots=True)
class Begun:
    """The turn has its rows and its conversation's active place."""

    sequence: int  # of the user's message


@dataclass(frozen=True, slots=True)
class Known:
    """This run id has begun before, for the same owner. Nothing was written."""

    run: Run


@dataclass(frozen=True, slots=True)
class Busy:
    """Another run has the conversation's active place. Nothing was written."""

    run_id: str


@dataclass(frozen=True, slots=True)
class NotFound:
    """No such conversation, or not the caller's, or deleted; or the run id is somebody else's. Nothing was written."""


Beginning = Begun | Known | Busy | NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """How a run ended. `parts` empty: no answer is stored. `provider` is the turn's own part of the model's history."""

    status: RunStatus
    now_ms: int
    kind: str = ""
    parts: tuple[JsonObject, ...] = ()
    provider: tuple[JsonObject, ...] = ()
    model: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation without its messages."""

    tenant: str
    id: str
    owner: str
    title: str
    active_run_id: str | None
    created_ms: int
    updated_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message as its readers get it. `outcome` is the run's status, "" for a user's message."""

    id: str
    sequence: int
    role: Role
    run_id: str
    parts: tuple[JsonObject, ...]
    model: str
    outcome: RunStatus | Literal[""]
    usage: Usage
    created_ms: int
    suggested: tuple[str, ...] = ()  # prompts to go on with, where they came too late for the parts


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryMessage:
    """A message as the next turn's prompt needs it.

    `provider` holds all the model's own messages of that turn after the user's, verbatim; empty for a user's message.
    """

    sequence: int
    role: Role
    parts: tuple[JsonObject, ...]
    provider: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Which messages of a conversation: at most `limit`, in this order, those past the sequence `past` in that order."""

    limit: int = 200
    order: Literal["asc", "desc"] = "asc"
    past: int | None = None
