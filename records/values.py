"""What goes into the records and comes out of them. Times are milliseconds since the epoch."""

from dataclasses import dataclass, field
from typing import Literal

from protocol.json import Json, JsonObject
from protocol.model import Usage
from protocol.turn import RunStatus, Transport

Role = Literal["user", "assistant"]
DAY_MS = 86_400_000


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
class Revision:
    """The turn stands in the place of an earlier one; that one and all after it are superseded.

    An edit asks something else, regenerating asks the same again. `message_id` is the earlier question's or its answer's; None,
    for the last turn's, where it is asked again.
    """

    kind: Literal["edit", "regenerate"]
    message_id: str | None = None


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
    files: tuple[str, ...] = ()  # ids of those that the parts attach
    most_active: int = 0  # runs of the owner that may be under way, this one included; 0: any number
    by_key: bool = False  # `run_id` stands for a key of the owner's: under it another request is refused
    by_client: bool = False  # `user_message_id` is the client's: the same message again is the same run
    revision: Revision | None = None
    expected_head: str | None = None  # the answer after which the client means to speak


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run row. `sequence` is the user's message's, the answer takes the next one; `kind` says what failed.

    Ended is a run whose answer is stored, finished one whose log was seen to have its end, too.
    """

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
    replaces: str | None = None  # the run whose turn this one stands in the place of
    created_ms: int
    updated_ms: int
    ended_ms: int | None
    finished_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A user's message that a run answers."""

    id: str
    parts: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs to list: all where nothing is said. `state` is a RunStatus, or "unfinished" for those that have not ended."""

    tenant: str = ""
    owner: str = ""
    state: RunStatus | Literal["", "unfinished"] = ""


@dataclass(frozen=True, slots=True)
class Begun:
    """The turn has its rows and its conversation's active place. `question` is the stored one where it is asked again."""

    sequence: int  # of the user's message
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """This run has begun before, for the same owner: by its id or by the same request. Nothing was written."""

    run: Run


@dataclass(frozen=True, slots=True)
class Busy:
    """Another run has the conversation's active place. Nothing was written."""

    run_id: str


@dataclass(frozen=True, slots=True)
class NotFound:
    """No such conversation or file, or not the caller's, or deleted; or the run id is somebody else's. Nothing was written."""


@dataclass(frozen=True, slots=True)
class Stale:
    """The conversation is not where the client thinks: its newest answer is `head`. Nothing was written."""

    head: str


@dataclass(frozen=True, slots=True)
class Reused:
    """This run id, or the key that it stands for, has begun before with another message. Nothing was written."""


@dataclass(frozen=True, slots=True)
class TooMany:
    """The owner has as many runs under way as there may be. Nothing was written."""


Beginning = Begun | Known | Reused | Busy | NotFound | Stale | TooMany


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
class Deleted:
    """A conversation that was deleted, and when. `forgotten`: no run of it goes on, and no log of one is kept."""

    key: Key
    active_run_id: str | None
    deleted_ms: int
    forgotten: bool = False


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
    cost_micro_usd: int = 0  # of the whole run


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptOutput:
    """The whole output of one tool call. `attempt` is the executor's: the newest one's stays."""

    run_id: str
    call_id: str
    attempt: int
    bytes: int
    content: Json
    now_ms: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key by its prefix, and whom it stands for. `digest` is the SHA-256 of the whole key in hex."""

    prefix: str
    digest: str
    name: str
    owner: str
    tenant: str = ""
    rights: frozenset[str] = frozenset()
    tier: str = ""
    created_ms: int
    expires_ms: int | None = None
    revoked_ms: int | None = None
