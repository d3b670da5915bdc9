"""Folding frames into the message they stand for, by the rules of the AI SDK's own reducer.

The server stores the fold of the frames it emitted; this is the same fold, so a message read here equals the stored one.
Frames that carry no content, known or not, change nothing. Values are never changed in place.
"""

from collections.abc import Callable
from typing import Any

Frame = dict[str, Any]
Message = dict[str, Any]
Parts = list[dict[str, Any]]


def empty() -> Message:
    """The message before the first frame."""
    return {"id": "", "role": "assistant", "parts": []}


def fold(message: Message, frame: Frame) -> Message:
    """The message after one more frame. Raises ValueError where the frame belongs to a part that is not open."""
    if frame["type"] == "start":
        return message | {"id": frame["messageId"]}
    return message | {"parts": _fold_parts(message["parts"], frame)}


def settle(message: Message) -> Message:
    """The message with nothing left open: what a partial answer is when no more frames will come."""
    closed = [part | {"state": "done"} if part.get("state") == "streaming" else part for part in message["parts"]]
    return message | {"parts": closed}


def text_of(message: Message) -> str:
    """All text that a person reads of a message."""
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def _fold_parts(parts: Parts, frame: Frame) -> Parts:
    match frame["type"].partition("-"):
        case ("text" | "reasoning" as kind, _, verb):
            return _fold_text(parts, frame, kind, verb)
        case ("tool", _, verb):
            return _fold_tool(parts, frame, verb)
        case ("data", _, _) if not frame.get("transient"):
            return _fold_data(parts, frame)
        case ("source", _, _) | ("steering", _, "message"):
            return [*parts, frame]
        case ("start", _, "step"):
            return [*parts, {"type": "step-start"}]
        case ("reset", _, "step"):
            return parts[: _last(parts, lambda part: part["type"] == "step-start") + 1]
        case _:
            return parts


def _fold_text(parts: Parts, frame: Frame, kind: str, verb: str) -> Parts:
    if verb == "start":
        return [*parts, {"type": kind, "text": "", "state": "streaming"}]
    at = _last(parts, lambda part: part["type"] == kind and part["state"] == "streaming")
    if verb == "delta":
        return _replace(parts, at, {"text": parts[at]["text"] + frame["delta"]})
    metadata = {"providerMetadata": frame["providerMetadata"]} if "providerMetadata" in frame else {}
    return _replace(parts, at, {"state": "done"} | metadata)


def _fold_tool(parts: Parts, frame: Frame, verb: str) -> Parts:
    if verb == "approval-response":
        return _fold_response(parts, frame)
    call = frame["toolCallId"]
    changes: dict[str, Any]
    match verb:
        case "input-start":
            named = {"type": "dynamic-tool", "toolName": frame["toolName"], "toolCallId": call, "state": "input-streaming"}
            served = {key: frame[key] for key in ("providerExecuted",) if key in frame}
            return [*parts, named | served]
        case "input-available":
            changes = {"state": "input-available", "input": frame["input"]}
        case "approval-request":
            changes = {"state": "approval-requested", "approval": {"id": frame["approvalId"]}}
        case "output-denied":
            changes = {"state": "output-denied"}
        case "output-available":
            changes = {"state": "output-available", "output": frame["output"]}
        case "output-error":
            changes = {"state": "output-error", "errorText": frame["errorText"]}
        case _:
            return parts  # input is shown when it is whole: half of a JSON text has no one reading
    return _replace(parts, _last(parts, lambda part: part.get("toolCallId") == call), changes)


def _fold_response(parts: Parts, frame: Frame) -> Parts:
    asked = frame["approvalId"]
    at = _last(parts, lambda part: (part.get("approval") or {}).get("id") == asked)
    approval = {"id": asked} | {key: frame[key] for key in ("approved", "reason") if key in frame}
    return _replace(parts, at, {"state": "approval-responded", "approval": approval})


def _fold_data(parts: Parts, frame: Frame) -> Parts:
    part = {key: value for key, value in frame.items() if key in ("type", "id", "data")}
    if "id" in part:
        for at, known in enumerate(parts):
            if known["type"] == part["type"] and known.get("id") == part["id"]:
                return [*parts[:at], part, *parts[at + 1 :]]
    return [*parts, part]


def _last(parts: Parts, wanted: Callable[[dict[str, Any]], bool]) -> int:
    for at in reversed(range(len(parts))):
        if wanted(parts[at]):
            return at
    raise ValueError("the frame refers to a part that is not open")


def _replace(parts: Parts, at: int, changes: dict[str, Any]) -> Parts:
    return [*parts[:at], parts[at] | changes, *parts[at + 1 :]]
