"""The model of a deployment without a key: scripted turns for the starter questions, quotes from the docs for all others.

It is honest about itself. A scripted turn calls the real tools; any other question is searched for in the documentation
with the real tools, and the answer is a quotation. It has no state: what comes next follows from the history.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from protocol.errors import ProviderError
from protocol.json import JsonObject
from protocol.model import ModelEvent, ModelRequest
from providers.history import blocks, calls_made, question, text_of, turn_start
from providers.script import Script, ScriptedCall, StopEvent, TextEvent, ToolInputEvent
from providers.scripted import Pace, play
from providers.stub import quote

MODEL = "demo"
GAP_MS = 30  # between words, about as fast as people read
QUOTED = 900  # characters of a quotation
ABOUT = "This is the demo model: it quotes the documentation and writes no answers of its own."
NOTHING = f"The documentation says nothing on this that I could find. {ABOUT}"
NO_TOOLS = (
    "This is the demo model. It can only search this project's documentation, and this assistant has no tool for that."
)


class DemoModel:
    """`scripts` by name; each is played where its `input` is asked, whatever the case and punctuation."""

    name = "demo"

    def __init__(self, scripts: Mapping[str, Script], *, pace: Pace = asyncio.sleep) -> None:
        self._scripts = {_key(script.input): script for script in scripts.values()}
        self._pace = pace

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        asked = question(request.messages)
        script = self._scripts.get(_key(asked))
        call = _scripted(script, request) if script else _from_docs(asked, request)
        async for event in play(_numbered(call, len(request.messages)), model=MODEL, pace=self._pace):
            yield event


@dataclass(frozen=True, slots=True)
class _Answered:
    """What a tool answered in this turn."""

    value: Any
    failed: bool


def _key(text: str) -> str:
    return " ".join(re.findall(r"[\w%]+", text.casefold()))


def _scripted(script: Script, request: ModelRequest) -> ScriptedCall:
    number = calls_made(request.messages)
    if number >= len(script.calls):
        raise ProviderError("invalid", "The scripted turn has no further model call.")
    return script.calls[number].at(request.attempt)


def _numbered(call: ScriptedCall, messages: int) -> ScriptedCall:
    """The call with ids that no other call of the conversation has: another model may read this history one day."""
    events = tuple(
        event.model_copy(update={"id": f"demo_{messages}_{event.id}"}) if isinstance(event, ToolInputEvent) else event
        for event in call.events
    )
    return call.model_copy(update={"events": events})


def _from_docs(asked: str, request: ModelRequest) -> ScriptedCall:
    """Search, read the best part, quote it: one step a call."""
    if not {"search_docs", "read_doc"} <= {tool.name for tool in request.tools}:
        return _says(NO_TOOLS)
    answered = _answered(request.messages)
    found = answered.get("search_docs")
    if found is None:
        return _calls("Let me look in the documentation.", "search_docs", {"query": asked[:200]})
    if found.failed or not found.value:
        return _says(NOTHING)
    best = found.value[0]
    read = answered.get("read_doc")
    if read is None:
        return _calls("", "read_doc", {"path": best["path"], "part": best["part"]})
    text = best["snippet"] if read.failed else read.value["text"]
    return _says(_quotation(best, text, found.value[1:]))


def _answered(messages: Sequence[JsonObject]) -> dict[str, _Answered]:
    """The last answer of each tool in this turn."""
    names: dict[object, str] = {}
    answered: dict[str, _Answered] = {}
    for message in messages[turn_start(messages) + 1 :]:
        for block in blocks(message):
            if block.get("type") == "tool_use":
                names[block.get("id")] = str(block.get("name"))
            elif block.get("type") == "tool_result" and (name := names.get(block.get("tool_use_id"))):
                answered[name] = _read(block)
    return answered


def _read(block: JsonObject) -> _Answered:
    try:
        return _Answered(json.loads(text_of(block)), failed=bool(block.get("is_error")))
    except ValueError:  # an error's text, or a result that was cut
        return _Answered(None, failed=True)


def _quotation(best: Mapping[str, Any], text: str, others: Sequence[Mapping[str, Any]]) -> str:
    said = "\n".join(f"> {line}" if line else ">" for line in _beginning(text).splitlines())
    more = "; ".join(f"{other['heading'] or 'the beginning'} ({other['path']})" for other in others)
    also = f"\n\nSee also: {more}." if more else ""
    return f"{best['path']}, {best['heading'] or 'at the beginning'}:\n\n{said}{also}\n\n{ABOUT}"


def _beginning(text: str) -> str:
    """Whole paragraphs up to the length of a quotation; of a first one that is longer, its beginning."""
    kept: list[str] = []
    for paragraph in text.split("\n\n"):
        if sum(map(len, kept)) + len(paragraph) > QUOTED:
            break
        kept.append(paragraph)
    return "\n\n".join(kept) or quote(text, QUOTED)


def _says(text: str) -> ScriptedCall:
    return ScriptedCall(events=(TextEvent(type="text", text=text, words=True), StopEvent(type="stop")), gap_ms=GAP_MS)


def _calls(text: str, name: str, given: JsonObject) -> ScriptedCall:
    return ScriptedCall(
        events=(
            TextEvent(type="text", text=text, words=True),
            ToolInputEvent(type="tool_input", id="a", name=name, delta=json.dumps(given)),
            StopEvent(type="stop", reason="tool_use"),
        ),
        gap_ms=GAP_MS,
    )
