"""What a model is told of a function: a schema from its types, words from its docstring.

The docstring's text describes the tool, its `Args:` section (Google style) each parameter. Whatever keeps a function from being a
tool raises `WrongTool` where the function is written, names the parameter, and says what to do.
"""

import inspect
import re
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from engine.text import whole

Function = Callable[..., Awaitable[Any]]

_SECTION = re.compile(r"^(Args|Arguments|Parameters):[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"^(\*{0,2}\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


class WrongTool(TypeError):
    """This function cannot be a tool. The message names function and parameter and says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """`takes_call`: the first parameter is the tool's view of the run, and no argument of the model's."""

    description: str
    arguments: type[BaseModel]
    takes_call: bool


def read_signature(function: Function, call: type) -> Signature:
    """Look at a function. `call` is the type of a first parameter that is not the model's. Raises WrongTool."""
    name = getattr(function, "__name__", str(function))
    if not inspect.iscoroutinefunction(function):
        raise WrongTool(f"{name}: a tool is an `async def`; what blocks goes into `await asyncio.to_thread(…)`")
    description, told = _read_docstring(inspect.getdoc(function) or "")
    if not description or whole(description) != description:
        raise WrongTool(f"{name}: it has no docstring that a model could read: say what the tool does")
    parameters = _parameters(name, function)
    unknown = sorted(told.keys() - {one.name for one in parameters})
    if unknown:
        raise WrongTool(f"{name}: its docstring describes {unknown[0]!r}, which is no parameter")
    takes_call = bool(parameters) and parameters[0].annotation is call
    parameters = parameters[1:] if takes_call else parameters
    for one in parameters:
        _check(name, one, call)
    fields: dict[str, Any] = {one.name: (_described(one, told), _default(one)) for one in parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a parameter may be called `json` or `copy`
        arguments = create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)
    return Signature(description=description, arguments=arguments, takes_call=takes_call)


def _parameters(name: str, function: Function) -> list[inspect.Parameter]:
    try:
        return [*inspect.signature(function, eval_str=True).parameters.values()]
    except NameError as error:
        raw = inspect.signature(function).parameters.values()
        named = next((one.name for one in raw if str(error.name) in str(one.annotation)), "?")
        raise WrongTool(f"{name}: the type of parameter {named} is not known here: {error}") from None


def _check(name: str, parameter: inspect.Parameter, call: type) -> None:
    where = f"{name}: parameter {parameter.name}"
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise WrongTool(f"{where}: a model gives its arguments by name, so there is no *, ** or / here")
    if parameter.annotation is call:
        raise WrongTool(f"{where} is a {call.__name__}: it comes first")
    if parameter.annotation is inspect.Parameter.empty:
        raise WrongTool(f"{where} has no type: write `{parameter.name}: str`, or what it is")
    if parameter.name.startswith(("_", "model_")):
        raise WrongTool(f"{where}: no name here begins with _ or model_: rename it")
    _check_type(where, parameter)


def _check_type(where: str, parameter: inspect.Parameter) -> None:
    try:
        kind = TypeAdapter[Any](parameter.annotation)
        kind.json_schema()
    except (PydanticUserError, TypeError, NameError):
        raise WrongTool(f"{where}: JSON has no word for its type: take text, numbers, lists, dicts or models") from None
    if parameter.default is inspect.Parameter.empty:
        return
    try:
        kind.validate_python(parameter.default)
    except ValidationError:
        raise WrongTool(f"{where}: its default is not of its type") from None


def _default(parameter: inspect.Parameter) -> Any:
    return ... if parameter.default is inspect.Parameter.empty else parameter.default


def _described(parameter: inspect.Parameter, told: dict[str, str]) -> Any:
    """The type with the docstring's words, where it has none of its own."""
    kind = parameter.annotation
    own = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    if parameter.name not in told or any(isinstance(one, FieldInfo) and one.description for one in own):
        return kind
    return Annotated[kind, Field(description=told[parameter.name])]


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The text without its `Args:` section, and what that says of each parameter."""
    found = _SECTION.search(text)
    if found is None:
        return text, {}
    told: dict[str, str] = {}
    lines = text[found.end() :].strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    name = ""
    while lines and (not lines[0].strip() or lines[0].startswith(" " * max(indent, 1))):
        line = lines.pop(0)[indent:]
        entry = _ENTRY.match(line)
        if entry:
            name = entry[1]
            told[name] = entry[2]
        elif name and line.strip():
            told[name] = f"{told[name]} {line.strip()}".strip()
    rest = "\n".join(lines).strip()
    description = "\n\n".join(piece for piece in (text[: found.start()].strip(), rest) if piece)
    return description, told
