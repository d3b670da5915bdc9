"""How a tool is declared: a typed async function, its schema from the types, its description from the docstring.

    @tool(repeat="never", timeout_seconds=20)
    async def send_mail(call: Call, to: str, subject: str, body: str) -> str:
        \"\"\"Send an e-mail and return its id.\"\"\"

The first parameter may be a `Call`: the tool's view of the run. `repeat` says what a crash may do: "safe" means calling again
with the same key is harmless, "never" that an unknown outcome is told to the model instead. `approval` lets a person decide
before each call; the answer to a `question` is a person's, and the function is never called.
"""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, create_model

from protocol.json import Json
from protocol.model import ToolSchema

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
    function: Callable[..., Awaitable[Any]]

    @property
    def name(self) -> str:
        return self.schema.name


def tool(
    *,
    repeat: Repeat,
    timeout_seconds: float = TOOL_SECONDS,
    name: str | None = None,
    approval: bool = False,
    question: bool = False,
) -> Callable[[Callable[..., Awaitable[Any]]], Tool]:
    """Make a tool of an async function. Raises TypeError where the function cannot be one."""
    if approval and question:
        raise TypeError("a question is answered, there is nothing to approve")

    def declare(function: Callable[..., Awaitable[Any]]) -> Tool:
        if not inspect.iscoroutinefunction(function):
            raise TypeError(f"{function.__qualname__} is not an async function")
        description = inspect.getdoc(function)
        if not description:
            raise TypeError(f"{function.__qualname__} has no docstring: it is what the model reads")
        signature = inspect.signature(function, eval_str=True)
        parameters = list(signature.parameters.values())
        takes_call = bool(parameters) and parameters[0].annotation is Call
        arguments = _arguments(function.__name__, parameters[1:] if takes_call else parameters)
        schema = arguments.model_json_schema()
        schema.pop("title", None)
        return Tool(
            schema=ToolSchema(name=name or function.__name__, description=description, input_schema=schema),
            arguments=arguments,
            repeat=repeat,
            approval=approval,
            question=question,
            timeout_seconds=timeout_seconds,
            takes_call=takes_call,
            function=function,
        )

    return declare


def _arguments(name: str, parameters: list[inspect.Parameter]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.annotation is inspect.Parameter.empty:
            raise TypeError(f"{name}: parameter {parameter.name} has no type")
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (parameter.annotation, default)
    return create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)
