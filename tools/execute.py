"""Runs one tool call and always has a result for the model.

Whatever a tool does (refuse its input, hang, raise, return what is not JSON) becomes an error result that says so in
few words: the run goes on and the model decides. Only a cancellation from outside passes through. Whether a call may be
made at all (a crash before, a stop) is decided by who calls this.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from engine.numbers import for_browser
from protocol.checkpoint import ToolCall, ToolResult
from protocol.json import Json, JsonObject
from tools.declare import Artifact, Call, Tool
from tools.output import NotJson, capped, clean, to_json, written

MAX_ERROR_BYTES = 2_048  # of an error's text: enough to act on, too little to bury the conversation
MAX_ARTIFACTS = 20  # of one call
_MAX_COMPLAINTS = 5  # about one input

_ADDRESS = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]*://\S+")
_SECRET = re.compile(
    r"(?i)\b(authorization|api[_-]?key|access[_-]?key|token|password|passwd|secret)\b(\s*[=:]\s*)(bearer\s+)?\S{6,}"
)
_KEY = re.compile(r"\b(?:sk|pk|rk|ghp|gho|xox[a-z])[-_][A-Za-z0-9_-]{8,}")


async def execute(tools: Mapping[str, Tool], asked: ToolCall, call: Call) -> ToolResult:
    """The result of a call that the model asked for. Never raises but CancelledError.

    `tools` is by name. `call` is what the tool learns of the run; its `progress` gets JSON that a frame can hold.
    """
    if asked.error:
        return _failed(asked, asked.error)
    tool = tools.get(asked.name)
    if tool is None:
        known = ", ".join(sorted(tools)) or "none"
        return _failed(asked, f"There is no tool called {asked.name!r}. Known tools: {known}.")
    try:
        arguments = tool.arguments.model_validate(asked.input)
    except ValidationError as error:
        return _failed(asked, f"The input was not accepted: {_complaints(error)}.")
    named = {name: getattr(arguments, name) for name in tool.arguments.model_fields}
    return await _outcome(tool, asked, call, named)


async def _outcome(tool: Tool, asked: ToolCall, call: Call, arguments: dict[str, Any]) -> ToolResult:
    presented: list[Artifact] = []
    own = replace(call, progress=lambda value: call.progress(_shown(to_json(value))), present=presented.append)
    limit = asyncio.timeout(tool.timeout_seconds)
    try:
        async with limit:
            value = await tool.function(*((own,) if tool.takes_call else ()), **arguments)
        result = to_json(value)
        artifacts = tuple(_presented(asked, number, one) for number, one in enumerate(presented[:MAX_ARTIFACTS]))
        return ToolResult(ordinal=asked.ordinal, text=_text(result), output=_shown(result), artifacts=artifacts)
    except NotJson as error:
        return _failed(asked, f"The tool's result cannot be used: {error}.")
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # The tool cancelled itself (it awaited a cancelled future): nobody asked us to stop.
        return _failed(asked, "The tool failed: it was cancelled.")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code: whatever it raises is told to the model
        if limit.expired():
            return _failed(asked, f"The tool did not answer within {tool.timeout_seconds:g} s.")
        return _failed(asked, f"The tool failed: {_said(error)}")


def _failed(asked: ToolCall, text: str) -> ToolResult:
    return ToolResult(ordinal=asked.ordinal, text=capped(clean(text), MAX_ERROR_BYTES), error=True)


def _presented(asked: ToolCall, number: int, artifact: Artifact) -> JsonObject:
    """An artifact as a frame holds it: what was left out has no key."""
    texts = {
        "title": artifact.title,
        "mediaType": artifact.media_type,
        "url": artifact.url,
    }
    shown: JsonObject = {"id": clean(artifact.id) or f"{asked.id}.{number}", "kind": clean(artifact.kind)}
    shown |= {key: capped(clean(text), MAX_ERROR_BYTES) for key, text in texts.items() if text}
    return shown if artifact.content is None else {**shown, "content": _shown(to_json(artifact.content))}


def _text(value: Json) -> str:
    return "" if value is None else capped(written(value))


def _shown(value: Json) -> Json:
    """The value for the reader: itself where it fits, else the beginning of its text."""
    readable = for_browser(value)
    text = written(readable)
    cut = capped(text)
    return readable if cut == text else cut


def _complaints(error: ValidationError) -> str:
    """What is wrong with an input, without repeating the input."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(map(str, one['loc'])) or 'input'}: {one['msg']}" for one in found[:_MAX_COMPLAINTS]]
    if len(found) > _MAX_COMPLAINTS:
        told.append(f"and {len(found) - _MAX_COMPLAINTS} more")
    return "; ".join(told)


def _said(error: BaseException) -> str:
    """An exception's name and text, without addresses and secrets. An exception may fail to say anything at all."""
    try:
        text = str(error)[: 2 * MAX_ERROR_BYTES]
    except Exception:  # noqa: BLE001 - a broken __str__ must not take the run with it
        text = ""
    text = _KEY.sub("[hidden]", _SECRET.sub(r"\1\2[hidden]", _ADDRESS.sub("[address]", text)))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
