"""Folding frames into the message they stand for, by the rules of the AI SDK's own reducer.

The engine folds every frame it emits, and a client folds every frame it reads: one function, so that what is stored is what
was shown (LAW-P2). At most one text or reasoning part is open at a time; the engine keeps it so.
"""

from typing import Any, cast

from protocol.checkpoint import Message, TurnState
from protocol.frames import Frame
from protocol.json import JsonObject

Parts = tuple[JsonObject, ...]


def fold(message: Message, frame: Frame) -> Message:
    """The message after one more frame. Frames that carry no content leave it as it is."""
    kind = frame["type"]
    if kind == "start":
        return message.model_copy(update={"id": cast("dict[str, str]", frame)["messageId"]})
    parts = _fold_parts(message.parts, kind, cast("dict[str, Any]", frame))
    return message if parts is message.parts else message.model_copy(update={"parts": parts})


def folded(state: TurnState, frames: tuple[Frame, ...]) -> TurnState:
    """The state whose message has these frames folded in."""
    message = state.message
    for frame in frames:
        message = fold(message, frame)
    return state.model_copy(update={"message": message})


def _fold_parts(parts: Parts, kind: str, frame: dict[str, Any]) -> Parts:
    if kind.startswith(("text-", "reasoning-")):
        return _fold_text(parts, kind, frame)
    if kind.startswith("tool-"):
        return _fold_tool(parts, kind, frame)
    if kind.startswith("data-"):
        return _fold_data(parts, frame)
    if kind.startswith("source-"):
        return (*parts, frame)
    if kind == "steering-message":
        return (*parts, frame)
    if kind == "start-step":
        return (*parts, {"type": "step-start"})
    if kind == "reset-step":
        return _cut_back(parts)
    return parts


def _fold_text(parts: Parts, kind: str, frame: dict[str, Any]) -> Parts:
    name, _, verb = kind.partition("-")
    if verb == "start":
        return (*parts, {"type": name, "text": "", "state": "streaming"})
    at = _last(parts, lambda part: part["type"] == name and part.get("state") == "streaming")
    if verb == "delta":
        return _replace(parts, at, text=cast("str", parts[at]["text"]) + frame["delta"])
    extra = {"providerMetadata": frame["providerMetadata"]} if "providerMetadata" in frame else {}
    return _replace(parts, at, state="done", **extra)


def _fold_tool(parts: Parts, kind: str, frame: dict[str, Any]) -> Parts:
    if kind == "tool-approval-response":
        return _fold_response(parts, frame)
    call = frame["toolCallId"]
    if kind == "tool-input-start":
        opened = {"type": "dynamic-tool", "toolName": frame["toolName"], "toolCallId": call, "state": "input-streaming"}
        if "providerExecuted" in frame:
            opened["providerExecuted"] = frame["providerExecuted"]
        return (*parts, cast("JsonObject", opened))
    if kind == "tool-input-delta":
        return parts  # input is shown when it is whole: half of a JSON text has no one reading
    return _replace(parts, _last(parts, lambda part: part.get("toolCallId") == call), **_tool_changes(kind, frame))


def _tool_changes(kind: str, frame: dict[str, Any]) -> dict[str, Any]:
    match kind:
        case "tool-input-available":
            return {"state": "input-available", "input": frame["input"]}
        case "tool-approval-request":
            return {"state": "approval-requested", "approval": {"id": frame["approvalId"]}}
        case "tool-output-available":
            return {"state": "output-available", "output": frame["output"]}
        case "tool-output-denied":
            return {"state": "output-denied"}
        case _:
            return {"state": "output-error", "errorText": frame["errorText"]}


def _fold_response(parts: Parts, frame: dict[str, Any]) -> Parts:
    asked = frame["approvalId"]
    at = _last(parts, lambda part: (part.get("approval") or {}).get("id") == asked)
    approval = {"id": asked} | {key: frame[key] for key in ("approved", "reason") if key in frame}
    return _replace(parts, at, state="approval-responded", approval=approval)


def _fold_data(parts: Parts, frame: dict[str, Any]) -> Parts:
    if frame.get("transient"):
        return parts
    part: JsonObject = {str(key): frame[key] for key in ("type", "id", "data") if key in frame}
    if "id" in frame:
        for at, known in enumerate(parts):
            if known["type"] == frame["type"] and known.get("id") == frame["id"]:
                return (*parts[:at], part, *parts[at + 1 :])
    return (*parts, part)


def _cut_back(parts: Parts) -> Parts:
    at = _last(parts, lambda part: part["type"] == "step-start")
    return parts[: at + 1]


def _last(parts: Parts, wanted: Any) -> int:
    for at in range(len(parts) - 1, -1, -1):
        if wanted(parts[at]):
            return at
    raise ValueError("the frame refers to a part that is not open")


def _replace(parts: Parts, at: int, **changes: Any) -> Parts:
    return (*parts[:at], parts[at] | changes, *parts[at + 1 :])
