"""Tools that the provider runs itself, and the sources its text rests on, as frames and in the history.

A served call is answered within its message, or in a later one where the provider paused between: then it is shown again
there. Where the turn ends before, the call leaves the history, because no model is sent a call without its answer.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from engine.blocks import SERVED_CALLS, THOUGHTS, blocks
from engine.numbers import for_browser
from engine.shorten import shortened
from engine.text import whole, whole_json
from engine.values import OpenStep
from protocol.frames import Frame, SourceUrl
from protocol.json import Json, JsonObject
from protocol.model import Cited, ServedCall, ServedResult

NOT_ANSWERED = "Not answered: the turn ended first."
PAUSED: Json = {"paused": True}


def called(number: int, step: OpenStep, call: ServedCall) -> tuple[OpenStep, tuple[Frame, ...]]:
    """A call is shown once its input is whole; `number` is the step's."""
    frame_id = _frame_id(number, len(step.served))
    step = replace(step, served=(*step.served, call.id))
    return step, (
        {
            "type": "tool-input-start",
            "toolCallId": frame_id,
            "toolName": whole(call.name),
            "dynamic": True,
            "providerExecuted": True,
        },
        {
            "type": "tool-input-available",
            "toolCallId": frame_id,
            "toolName": whole(call.name),
            "input": shortened(for_browser(whole_json(call.input))),
            "dynamic": True,
            "providerExecuted": True,
        },
    )


def answered(
    number: int, step: OpenStep, result: ServedResult, history: tuple[JsonObject, ...]
) -> tuple[OpenStep, tuple[Frame, ...]]:
    """A result; one that answers a call of a paused message has its call shown again before it."""
    frames: tuple[Frame, ...] = ()
    if result.id not in step.served:
        step, frames = called(number, step, ServedCall(result.id, result.name, _input(result.id, history)))
    at = step.served.index(result.id)
    step = replace(step, answered=step.answered | {at})
    return step, (*frames, _output(number, at, result))


def left(number: int, step: OpenStep, *, goes_on: bool) -> tuple[OpenStep, tuple[Frame, ...]]:
    """The calls without a result: the provider `goes_on` with them in the next step, or never will."""
    frames = []
    for at, call in enumerate(step.served):
        if at not in step.answered:
            result = ServedResult(id=call, name="", output=PAUSED, error="" if goes_on else NOT_ANSWERED)
            frames.append(_output(number, at, result))
    return replace(step, answered=frozenset(range(len(step.served)))), tuple(frames)


def source(step: OpenStep, cited: Cited) -> tuple[Frame, ...]:
    """The frame of a source; none where the message names it already."""
    named = [part for part in step.message.parts if str(part["type"]).startswith("source-")]
    title, url = whole(cited.title), whole(cited.url)
    for part in named:
        if part.get("url", "") == url and (url or part.get("title") == title):
            return ()
    source_id = f"src{len(named) + 1}"
    if not url:
        return ({"type": "source-document", "sourceId": source_id, "mediaType": cited.media_type, "title": title},)
    page: SourceUrl = {"type": "source-url", "sourceId": source_id, "url": url}
    if title:
        page["title"] = title
    return (page,)


def closed(messages: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    """The turn's own messages as later turns send them.

    Without served calls that were never answered, answers of calls that are not there, and thoughts that nothing follows.
    """
    said = [block for message in messages for block in blocks(message)]
    calls = {str(block["id"]) for block in said if _is_call(block)}
    results = {str(block["tool_use_id"]) for block in said if _is_result(block)}
    kept = []
    for message in messages:
        before = [*blocks(message)]
        content = without_last_thoughts(block for block in before if not _is_alone(block, calls & results))
        if len(content) == len(before):
            kept.append(message)
        elif content:
            kept.append({**message, "content": [*content]})
    return tuple(kept)


def without_last_thoughts(content: Iterable[JsonObject]) -> list[JsonObject]:
    """The blocks up to the last one that says or does something: a message that ends in thought is refused."""
    kept = list(content)
    while kept and kept[-1].get("type") in THOUGHTS:
        kept.pop()
    return kept


def _frame_id(number: int, at: int) -> str:
    return f"s{number}.{at}"


def _output(number: int, at: int, result: ServedResult) -> Frame:
    frame_id = _frame_id(number, at)
    if result.error:
        return {
            "type": "tool-output-error",
            "toolCallId": frame_id,
            "errorText": result.error,
            "dynamic": True,
            "providerExecuted": True,
        }
    return {
        "type": "tool-output-available",
        "toolCallId": frame_id,
        "output": shortened(for_browser(whole_json(result.output))),
        "dynamic": True,
        "providerExecuted": True,
    }


def _input(call: str, history: tuple[JsonObject, ...]) -> JsonObject:
    for message in reversed(history):
        for block in blocks(message):
            if _is_call(block) and block["id"] == call and isinstance(block.get("input"), dict):
                return cast("JsonObject", block["input"])
    return {}


def _is_alone(block: JsonObject, pairs: set[str]) -> bool:
    """Whether it is a served call or a result without the other."""
    return (_is_call(block) and block["id"] not in pairs) or (_is_result(block) and block["tool_use_id"] not in pairs)


def _is_call(block: JsonObject) -> bool:
    return block.get("type") in SERVED_CALLS


def _is_result(block: JsonObject) -> bool:
    return str(block.get("type")).endswith("_tool_result") and "tool_use_id" in block
