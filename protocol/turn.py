"""The values of a turn that cross a process boundary: what the route hands over, and what a slice is told and returns.

Readers of these are older and newer builds at once, so unknown fields are ignored and new ones have defaults.
"""

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from protocol.errors import ErrorKind
from protocol.json import Json, JsonObject

Transport = Literal["workflow", "inline"]
RunStatus = Literal["accepted", "running", "completed", "failed", "stopped", "interrupted"]
ENDED: frozenset[str] = frozenset({"completed", "failed", "stopped", "interrupted"})


class Stored(BaseModel):
    """A value that is written by one build and read by another."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class TurnRequest(Stored):
    """One turn as the route prepared it; kept under the run's keys, never in workflow history."""

    v: Literal[1] = 1
    run_id: str
    conversation_id: str
    message_id: str  # of the answer
    user_message_id: str
    owner: str
    tenant: str = ""
    tier: str = ""  # of whoever asked; chooses among models
    quota_left: int | None = None  # turns the owner had left in the window after this one; None: nothing bounds them
    assistant: str
    text: str
    has_attachments: bool = False
    files: tuple[JsonObject, ...] = ()  # the parts of the message that attach one; never the bytes
    sequence: int  # of the user's message in its conversation; the answer takes the next one
    created_ms: int
    script: str = ""  # a scripted turn's name, for the smoke run and the demo
    stateless_history: tuple[JsonObject, ...] = ()


def files_of(parts: Iterable[JsonObject]) -> tuple[JsonObject, ...]:
    """The parts of a user's message that attach a file: `{"type": "file", "mediaType", "filename", "url"}`."""
    return tuple(part for part in parts if part.get("type") == "file")


class TurnInput(Stored):
    """What a person says to a run that is under way; it lies in the run's inbox, never in workflow history (C12).

    `target` is the tool call that is decided or answered, `value` the answer, `text` a reason or a steering message.
    """

    v: Literal[1] = 1
    id: str
    type: Literal["approve", "deny", "answer", "steer"]
    target: str = ""
    text: str = ""
    value: Json = None


class ChatTurnInput(Stored):
    """The workflow's input: ids and counters only."""

    v: Literal[1] = 1
    run_id: str
    generation: int = 1
    slice: int = 1  # the next slice to run; grows over continue-as-new
    slice_ms: int = 180_000
    heartbeat_ms: int = 5_000  # a worker silent for longer is taken for dead
    max_slices: int = 200  # of one history; no constant, because another value would break the replay of a live run
    woken: bool = False  # a wake-up that nothing waited for yet, carried over continue-as-new


class SliceInput(Stored):
    """What one activity is told."""

    v: Literal[1] = 1
    run_id: str
    generation: int
    slice: int
    slice_ms: int = 180_000
    stop: bool = False  # the workflow was cancelled, which means what Stop means


class FailInput(Stored):
    """Settle a run that no slice can go on with."""

    v: Literal[1] = 1
    run_id: str
    generation: int
    slice: int  # the one that failed
    kind: ErrorKind


class SliceResult(Stored):
    """What one activity returns: counters only, nothing that a person wrote."""

    v: Literal[1] = 1
    outcome: Literal["ended", "handed_over", "parked", "busy", "stale", "missing", "exhausted"]
    status: str = ""  # a RunStatus where outcome is "ended"
    steps: int = 0
    frames: int = 0
    wait_ms: int = 0  # with "busy": what is left of the other's lease; with "parked": of the time to answer
    reason: Literal["", "budget", "draining"] = ""
