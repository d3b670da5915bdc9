"""How a tool is declared: a typed async function, its schema from the types, its description from the docstring.

    @tool(repeat="never", timeout_seconds=20)
    async def send_mail(call: Call, to: str, subject: str, body: str) -> str:
        \"\"\"Send an e-mail and return its id.\"\"\"

An `Args:` section of the docstring describes the parameters. The first one may be a `Call`: the tool's view of the run. `repeat` says what a crash may do: "safe" means calling again
with the same key is harmless, "never" that an unknown outcome is told to the model instead. `approval` lets a person decide
before each call; the answer to a `question` is a person's, and the function is never called.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import BaseModel

from protocol.json import Json
from protocol.model import ToolSchema
from tools.signature import Function, WrongTool, read_signature

__all__ = ["TOOL_SECONDS", "Artifact", "Call", "Repeat", "Tool", "WrongTool", "tool"]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)  # what every provider takes

Repeat = Literal["safe", "never"]

TOOL_SECONDS = 60.0  # longer than any well-behaved request, shorter than a reader's patience


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """Something a tool made, or an image it looked at, for people to see beside the answer. The model does not get it.

    `kind` is a word of the assistant's own ("image", "table", "code"); what it is lies in `content`, or at `url`. One with the
    `id` of an earlier one of the run takes its place; without an id it has one of its own.
    """

    kind: str
    title: str = ""
    media_type: str = ""
    url: str = ""
    content: Json = None
    id: str = ""


def unseen(_: Artifact) -> None:
    """Nobody looks at artifacts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a tool may know of the run it works for. `key` is the same whenever this call is repeated.

    What it presents is shown with its result, and lost where it fails.
    """

    run_id: str
    conversation_id: str
    owner: str
    key: str
    progress: Callable[[Json], None]
    present: Callable[[Artifact], None] = unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A declared tool. `invoke` takes validated arguments."""

    schema: ToolSchema
    arguments: type[BaseModel]
    repeat: Repeat
    approval: bool = False
    question: bool = False
    timeout_seconds: float
    takes_call: bool
    function: Function

    @property
    def name(self) -> str:
        return self.schema.name


def tool(
    *misplaced: object,
    repeat: Repeat,
    timeout_seconds: float = TOOL_SECONDS,
    name: str | None = None,
    approval: bool = False,
    question: bool = False,
) -> Callable[[Function], Tool]:
    """Make a tool of an async function. Raises WrongTool where the function, or what is said of it, cannot be one."""
    if misplaced:
        raise WrongTool('write @tool(repeat="safe") or @tool(repeat="never", …), everything by its name')
    if repeat not in get_args(Repeat):
        raise WrongTool('repeat is "safe" where calling twice does no harm, else "never"')
    if not timeout_seconds > 0:
        raise WrongTool("timeout_seconds is more than 0")
    if approval and question:
        raise WrongTool("a question is answered, there is nothing to approve")

    def declare(function: Function) -> Tool:
        signature = read_signature(function, Call)
        called = name or function.__name__
        if NAME.fullmatch(called) is None:
            raise WrongTool(f"{called}: the name of a tool is letters, digits, _ and -, at most 64")
        schema = signature.arguments.model_json_schema()
        schema.pop("title", None)
        return Tool(
            schema=ToolSchema(name=called, description=signature.description, input_schema=schema),
            arguments=signature.arguments,
            repeat=repeat,
            approval=approval,
            question=question,
            timeout_seconds=timeout_seconds,
            takes_call=signature.takes_call,
            function=function,
        )

    return declare
