"""`assistants`: who answers on this deployment, with what, and whether all of it can be used."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from app.compose import scripts_of
from app.compose_assistants import assistants_of
from app.stack.state import settings_of_stack
from assistants.definition import Assistant
from providers.choose import SCRIPTED
from tools.declare import Tool


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("name", nargs="?", help="only this one, with what the model reads of each tool")


def run(arguments: Namespace) -> int:
    """Load all of them, as every process does at its start, and print them."""
    settings = settings_of_stack()
    found = assistants_of(settings, scripts_of(settings))
    if arguments.name and arguments.name not in found:
        sys.stderr.write(f"there is no assistant {arguments.name!r}; there are {', '.join(found)}\n")
        return 1
    shown = {arguments.name: found[arguments.name]} if arguments.name else found
    sys.stdout.write(
        "\n\n".join("\n".join(lines) for lines in _described(shown, settings.model, arguments.name)) + "\n"
    )
    return 0


def _described(assistants: Mapping[str, Assistant], model: str, name: str | None) -> Iterator[list[str]]:
    for one in assistants.values():
        yield [
            f"{one.name}: {one.title}",
            f"  model        {one.model or model}{'' if one.model else ' (CHAT_MODEL)'}{_played(one.model or model)}",
            f"  profile      {one.profile}",
            f"  definition   {one.fingerprint}",
            *(line for tool in one.tools for line in _tool(tool, whole=bool(name))),
            f"  checked      name, texts, model, {len(one.tools)} tools: nothing is wrong",
        ]


def _played(model: str) -> str:
    return ", which plays a script" if model.startswith(SCRIPTED) else ""


def _tool(tool: Tool, *, whole: bool) -> Iterator[str]:
    marks = [f"repeat {tool.repeat}", f"{tool.timeout_seconds:g} s"]
    if tool.approval:
        marks.append("a person approves it")
    if tool.question:
        marks = ["a person answers it"]
    yield f"  tool         {tool.name}({', '.join(tool.arguments.model_fields)}): {', '.join(marks)}"
    if whole:
        yield from (f"                 {line}" for line in tool.schema.description.splitlines())
        yield f"                 {tool.schema.input_schema}"
