"""A finished run's frames out of its stored message, for a reader that comes when the log has expired.

The frames are those of a run that gave its answer in one go: text in few large deltas, and of the transient frames only the
reply. Folding them gives the message back. Their indices are the replay's own and have nothing to do with the log's.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any, Final, cast

from engine.step import PIECE
from protocol.checkpoint import Message
from protocol.frames import FinishReason, Frame, data
from protocol.json import JsonObject
from protocol.turn import RunStatus

_CLOSING: Final = (
    "data-handoff",
    "data-error",
    "data-usage",
    "data-suggested-prompts",
)  # said about the run as a whole, after its last step
_NO_ANSWER: Final = "The run ended without an answer."
_REASONS: Final[dict[str, FinishReason]] = {
    "max_tokens": "length",
    "context_overflow": "length",
    "refused": "content-filter",
}


def frames_of(message: Message, *, status: RunStatus, kind: str = "", model: str = "") -> tuple[Frame, ...]:
    """The frames from `start` to `finish`. `kind` says what failed, where the run did; `model` who answered."""
    parts = message.parts
    steps = len(parts)
    while steps and parts[steps - 1]["type"] in _CLOSING:
        steps -= 1
    return (
        {"type": "start", "messageId": message.id},
        *_steps(parts[:steps]),
        *_verdict(parts[steps:], status),
        data("reply", {"stored": True, "model": model, "grounded": False, "outcome": status}),
        {"type": "finish", "finishReason": _reason(status, kind)},
    )


def _reason(status: RunStatus, kind: str) -> FinishReason:
    if status == "completed":
        return "stop"
    return "other" if status == "stopped" else _REASONS.get(kind, "error")


def _steps(parts: tuple[JsonObject, ...]) -> Iterator[Frame]:
    texts = {"text": count(1), "reasoning": count(1)}
    in_step = False
    for part in parts:
        kind = str(part["type"])
        if in_step and kind in ("step-start", "steering-message"):
            in_step = False
            yield {"type": "finish-step"}
        if kind == "step-start":
            in_step = True
            yield {"type": "start-step"}
        elif kind in texts:
            yield from _text(part, kind, f"{kind[0]}{next(texts[kind])}")
        elif kind == "dynamic-tool":
            yield from _tool(part)
        else:
            yield cast("Frame", part)  # data and sources: the part is the frame
    if in_step:
        yield {"type": "finish-step"}


def _text(part: dict[str, Any], kind: str, part_id: str) -> Iterator[Frame]:
    text = part["text"]
    yield cast("Frame", {"type": f"{kind}-start", "id": part_id})
    for at in range(0, len(text), PIECE):
        yield cast("Frame", {"type": f"{kind}-delta", "id": part_id, "delta": text[at : at + PIECE]})
    signed = {"providerMetadata": part["providerMetadata"]} if "providerMetadata" in part else {}
    yield cast("Frame", {"type": f"{kind}-end", "id": part_id, **signed})


def _tool(part: dict[str, Any]) -> Iterator[Frame]:
    call, name = part["toolCallId"], part["toolName"]
    known: dict[str, Any] = {"toolCallId": call, "dynamic": True}
    if "providerExecuted" in part:
        known["providerExecuted"] = part["providerExecuted"]
    yield cast("Frame", {"type": "tool-input-start", "toolName": name, **known})
    if "input" in part:
        yield cast("Frame", {"type": "tool-input-available", "toolName": name, "input": part["input"], **known})
    yield from _approval(part)
    if part["state"] == "output-available":
        yield cast("Frame", {"type": "tool-output-available", "output": part["output"], **known})
    elif part["state"] == "output-error":
        yield cast("Frame", {"type": "tool-output-error", "errorText": part["errorText"], **known})
    elif part["state"] == "output-denied":
        yield {"type": "tool-output-denied", "toolCallId": call}


def _approval(part: dict[str, Any]) -> Iterator[Frame]:
    approval = part.get("approval")
    if approval is None:
        return
    yield {"type": "tool-approval-request", "approvalId": approval["id"], "toolCallId": part["toolCallId"]}
    if "approved" in approval:
        said = {key: approval[key] for key in ("approved", "reason") if key in approval}
        yield cast("Frame", {"type": "tool-approval-response", "approvalId": approval["id"], **said})


def _verdict(closing: tuple[JsonObject, ...], status: RunStatus) -> Iterator[Frame]:
    if status == "stopped":
        yield {"type": "abort", "reason": "stopped"}
    elif status != "completed" and not any(part["type"] == "data-error" for part in closing):
        yield {"type": "error", "errorText": _NO_ANSWER}
    for part in closing:
        yield cast("Frame", part)
        if part["type"] == "data-error":
            yield {"type": "error", "errorText": cast("dict[str, str]", part["data"])["message"]}
