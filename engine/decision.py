"""What a person decides about a step: which calls wait for it, and how asking and deciding look in the log.

A call's own id is the id of its approval: it is asked about once, and decided once.
"""

from engine.values import Turn
from protocol.checkpoint import ToolCall
from protocol.frames import Frame, ToolApprovalResponse, data


def awaits(turn: Turn, call: ToolCall) -> bool:
    """Whether the call can go on only after a person said something."""
    return bool(call.waits) and call.ordinal not in turn.results and call.ordinal not in turn.approved


def request(call: ToolCall) -> tuple[Frame, ...]:
    """What asks a person, where the call needs one."""
    match call.waits:
        case "approval":
            return ({"type": "tool-approval-request", "approvalId": call.id, "toolCallId": call.id},)
        case "question":
            return (data("question", {"toolCallId": call.id}, part_id=call.id),)
        case _:
            return ()


def response(call: ToolCall, *, approved: bool, reason: str) -> ToolApprovalResponse:
    """What tells every reader how it was decided."""
    frame: ToolApprovalResponse = {"type": "tool-approval-response", "approvalId": call.id, "approved": approved}
    if reason:
        frame["reason"] = reason
    return frame
