r"""Scripted turn files: what a model says in one turn, as data.

JSON, one value a line. The first line names the script, each further line is one model call:

    {"v": 1, "name": "sum", "input": "What is 2 + 2?"}
    {"events": [{"type": "tool_input", "id": "a", "name": "calculator", "delta": "{\"expression\":\"2+2\"}"},
                {"type": "stop", "reason": "tool_use"}]}
    {"expect": {"tool_results": 1}, "events": [{"type": "text", "text": "4"}, {"type": "stop"}], "gap_ms": 30}

(each on one line; blank lines are allowed). Consecutive events of one kind, or of one tool call, are one block; a `block_end`
between them makes two, as does what stands on its own: `source`, `compaction`. A call ends with `stop` or `error`. This module reads; `providers/scripted.py` plays.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from protocol.errors import ErrorKind
from protocol.model import StopReason, Usage

Shape = TypeVar("Shape", bound=BaseModel)

_WORD = re.compile(r"\S*\s+|\S+")


class ScriptError(ValueError):
    """A script that cannot be read. The message names the line."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TextEvent(_Strict):
    """Text: one delta, or one a word, and all of it `repeat` times."""

    type: Literal["text"]
    text: str
    words: bool = False
    repeat: int = Field(default=1, ge=1)

    @property
    def deltas(self) -> Sequence[str]:
        return (_WORD.findall(self.text) if self.words else [self.text]) * self.repeat


class ThinkingEvent(_Strict):
    """Thinking. The signature belongs to the block, wherever in it it stands."""

    type: Literal["thinking"]
    text: str = ""
    signature: str | None = None


class ToolInputEvent(_Strict):
    """A piece of the JSON of a tool's input."""

    type: Literal["tool_input"]
    id: str
    name: str
    delta: str


class SourceEvent(_Strict):
    """What the text before it rests on: a page where there is a `url`, else a document."""

    type: Literal["source"]
    title: str
    url: str = ""
    media_type: str = "text/plain"


class CompactionEvent(_Strict):
    """The provider puts a summary in place of what is old."""

    type: Literal["compaction"]
    summary: str


class BlockEndEvent(_Strict):
    """What follows is a new block, even if it is of the same kind."""

    type: Literal["block_end"]


class ErrorEvent(_Strict):
    """The call fails here. `retry_after` is in seconds; `usage` is what it cost so far."""

    type: Literal["error"]
    kind: ErrorKind
    retry_after: float | None = None
    usage: Usage = Usage()


class StopEvent(_Strict):
    """The call is complete."""

    type: Literal["stop"]
    reason: StopReason = "end_turn"
    usage: Usage = Usage()


ScriptEvent = Annotated[
    TextEvent | ThinkingEvent | ToolInputEvent | SourceEvent | CompactionEvent | BlockEndEvent | ErrorEvent | StopEvent,
    Field(discriminator="type"),
]


class Expect(_Strict):
    """What the request must hold for the call to be played; what is left out is not looked at."""

    last_user: str | None = None  # the text of this turn's question
    tools: tuple[str, ...] | None = None  # the names of the tools on offer, in order
    tool_results: int | None = None  # how many results the call answers to


class ScriptedCall(_Strict):
    """One model call. `gap_ms` is waited between deltas. `again` is played instead where the call was tried before."""

    expect: Expect = Expect()
    events: tuple[ScriptEvent, ...] = Field(min_length=1)
    again: tuple[ScriptEvent, ...] = ()
    gap_ms: int = Field(default=0, ge=0)

    def at(self, attempt: int) -> "ScriptedCall":
        """The call as it goes at this attempt, from 0."""
        return self.model_copy(update={"events": self.again}) if attempt and self.again else self

    @model_validator(mode="after")
    def _ends_once(self) -> "ScriptedCall":
        for events in (self.events, self.again or self.events):
            ends = [index for index, event in enumerate(events) if isinstance(event, StopEvent | ErrorEvent)]
            if ends != [len(events) - 1]:
                raise ValueError("a call has one stop or error event, its last one")
        return self


class _Header(BaseModel):
    """Line 1. Unknown keys are left to whoever else reads the file."""

    v: Literal[1]
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    input: str = ""


class Script(_Strict):
    """One turn of a model. `input` is the message it answers."""

    name: str
    input: str
    calls: tuple[ScriptedCall, ...]


def parse_script(text: str) -> Script:
    """Read a scripted turn file. Raises ScriptError."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise ScriptError("line 1: a script begins with its header")
    header = _line(_Header, *lines[0])
    calls = tuple(_line(ScriptedCall, number, line) for number, line in lines[1:])
    return Script(name=header.name, input=header.input, calls=calls)


def load_scripts(*folders: Path) -> dict[str, Script]:
    """All `*.jsonl` of the folders by name, but not the frames recorded beside them. Raises ScriptError."""
    scripts: dict[str, Script] = {}
    for path in (path for folder in folders for path in _files(folder)):
        try:
            script = parse_script(path.read_text(encoding="utf-8"))
        except ScriptError as error:
            raise ScriptError(f"{path.name}: {error}") from error
        if script.name in scripts:
            raise ScriptError(f"{path.name}: another script is called {script.name!r}")
        scripts[script.name] = script
    return scripts


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise ScriptError(f"{folder}: there is no such folder")
    return sorted(path for path in folder.glob("*.jsonl") if not path.name.endswith(".frames.jsonl"))


def _line(shape: type[Shape], number: int, line: str) -> Shape:
    try:
        return shape.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ScriptError(f"line {number}: {place + ': ' if place else ''}{first['msg']}") from error
