"""Frames: the events of a run, each one an AI SDK UI message chunk (v7 names) and nothing else.

A client's parser refuses unknown types and, in some versions, unknown or null keys: so every shape is listed here, optional
keys are left out rather than null, and all that is ours travels in `data-*` chunks. Frames marked transient are not part of
the message that folding a log gives; they still take an index like any other.
"""

from typing import Literal, NotRequired, TypedDict

from protocol.json import Json, JsonObject

FinishReason = Literal["stop", "length", "content-filter", "error", "other"]

Start = TypedDict("Start", {"type": Literal["start"], "messageId": str})
StartStep = TypedDict("StartStep", {"type": Literal["start-step"]})
FinishStep = TypedDict("FinishStep", {"type": Literal["finish-step"]})
ResetStep = TypedDict("ResetStep", {"type": Literal["reset-step"]})
PartStart = TypedDict("PartStart", {"type": Literal["text-start", "reasoning-start"], "id": str})
PartDelta = TypedDict("PartDelta", {"type": Literal["text-delta", "reasoning-delta"], "id": str, "delta": str})
PartEnd = TypedDict(
    "PartEnd",
    {"type": Literal["text-end", "reasoning-end"], "id": str, "providerMetadata": NotRequired[dict[str, JsonObject]]},
)
ToolInputStart = TypedDict(
    "ToolInputStart",
    {
        "type": Literal["tool-input-start"],
        "toolCallId": str,
        "toolName": str,
        "dynamic": bool,
        "providerExecuted": NotRequired[bool],
    },
)
ToolInputDelta = TypedDict(
    "ToolInputDelta", {"type": Literal["tool-input-delta"], "toolCallId": str, "inputTextDelta": str}
)
ToolInputAvailable = TypedDict(
    "ToolInputAvailable",
    {
        "type": Literal["tool-input-available"],
        "toolCallId": str,
        "toolName": str,
        "input": Json,
        "dynamic": bool,
        "providerExecuted": NotRequired[bool],
    },
)
ToolOutputAvailable = TypedDict(
    "ToolOutputAvailable",
    {
        "type": Literal["tool-output-available"],
        "toolCallId": str,
        "output": Json,
        "dynamic": bool,
        "providerExecuted": NotRequired[bool],
    },
)
ToolOutputError = TypedDict(
    "ToolOutputError",
    {
        "type": Literal["tool-output-error"],
        "toolCallId": str,
        "errorText": str,
        "dynamic": bool,
        "providerExecuted": NotRequired[bool],
    },
)
# One id serves for both: a call is asked about once.
ToolApprovalRequest = TypedDict(
    "ToolApprovalRequest", {"type": Literal["tool-approval-request"], "approvalId": str, "toolCallId": str}
)
ToolApprovalResponse = TypedDict(
    "ToolApprovalResponse",
    {"type": Literal["tool-approval-response"], "approvalId": str, "approved": bool, "reason": NotRequired[str]},
)
ToolOutputDenied = TypedDict("ToolOutputDenied", {"type": Literal["tool-output-denied"], "toolCallId": str})
SteeringMessage = TypedDict(
    "SteeringMessage", {"type": Literal["steering-message"], "id": str, "parts": list[JsonObject]}
)
SourceUrl = TypedDict(
    "SourceUrl", {"type": Literal["source-url"], "sourceId": str, "url": str, "title": NotRequired[str]}
)
SourceDocument = TypedDict(
    "SourceDocument", {"type": Literal["source-document"], "sourceId": str, "mediaType": str, "title": str}
)
Data = TypedDict(
    "Data", {"type": str, "id": NotRequired[str], "data": Json, "transient": NotRequired[bool]}
)  # `type` is always "data-" and a name of DATA_NAMES
Error = TypedDict("Error", {"type": Literal["error"], "errorText": str})
Abort = TypedDict("Abort", {"type": Literal["abort"], "reason": NotRequired[str]})
Finish = TypedDict("Finish", {"type": Literal["finish"], "finishReason": FinishReason})

Frame = (
    Start | StartStep | FinishStep | ResetStep | PartStart | PartDelta | PartEnd | ToolInputStart | ToolInputDelta
    | ToolInputAvailable | ToolApprovalRequest | ToolApprovalResponse | ToolOutputAvailable | ToolOutputError | ToolOutputDenied
    | SteeringMessage | SourceUrl | SourceDocument | Data | Error | Abort | Finish
)  # fmt: skip

TRANSIENT_DATA = frozenset(
    {"run", "config", "loop", "trace", "tool-progress", "recovering", "reply", "void", "rate-limited", "model-fallback"}
)
KEPT_DATA = frozenset(
    {"usage", "error", "question", "sources", "citations", "artifact", "handoff", "suggested-prompts", "context"}
)
DATA_NAMES = TRANSIENT_DATA | KEPT_DATA


def data(name: str, value: Json, *, part_id: str | None = None) -> Data:
    """A frame of our own. Whether it is transient follows from its name."""
    if name not in DATA_NAMES:
        raise ValueError(f"no data frame is called {name!r}")
    frame: Data = {"type": f"data-{name}", "data": value}
    if part_id is not None:
        frame["id"] = part_id
    if name in TRANSIENT_DATA:
        frame["transient"] = True
    return frame
