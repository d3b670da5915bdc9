"""The end of a run whose checkpoint this build cannot read, made from its log alone.

Nothing is known but what readers saw. So nothing is withdrawn: what is open is closed, and the fold of the log is the answer
that is stored, as always (LAW-P2). The model's own history is lost; the next turn is told the answer's text instead.
"""

from dataclasses import replace
from typing import Any, cast

from engine.fold import folded
from engine.settle import settle
from engine.values import Advance, OpenStep, Plan, StreamedCall, Turn
from protocol.checkpoint import Message, Outcome, ToolCall, TurnState
from protocol.frames import Frame

_ANSWERED = ("tool-output-available", "tool-output-error")


def salvage(plan: Plan, log: tuple[Frame, ...], outcome: Outcome) -> Advance:
    """End the run. `log` holds its frames from the first one on, none where it has none yet."""
    first: tuple[Frame, ...] = () if log else ({"type": "start", "messageId": plan.message_id},)
    frames = cast("tuple[dict[str, Any], ...]", (*first, *log))
    state = folded(TurnState(run_id=plan.run_id, message=Message(id=plan.message_id)), (*first, *log))
    ended = settle(_as_left(plan, state, frames), outcome)
    ended_state = ended.turn.state.model_copy(update={"history": ()})
    return replace(ended, turn=replace(ended.turn, state=ended_state), frames=(*first, *ended.frames))


def _as_left(plan: Plan, state: TurnState, frames: tuple[dict[str, Any], ...]) -> Turn:
    """The turn as its last executor left it."""
    kinds = [frame["type"] for frame in frames]
    begun = kinds.count("start-step")
    if begun <= kinds.count("finish-step"):
        return Turn(plan=plan, state=state.model_copy(update={"step": begun}))
    state = state.model_copy(update={"phase": "open", "step": begun})
    at = max(place for place, kind in enumerate(kinds) if kind in ("start-step", "reset-step"))
    step = frames[at:]
    answered = {frame["toolCallId"] for frame in step if frame["type"] in _ANSWERED}
    opened = [frame for frame in step if frame["type"] == "tool-input-start" and frame["toolCallId"] not in answered]
    if any(frame["type"] == "tool-input-available" and not frame.get("providerExecuted") for frame in step):
        # The model's message was complete, so the calls may have been made: nobody can say any more.
        calls = tuple(_call(begun, ordinal, frame) for ordinal, frame in enumerate(opened))
        state = state.model_copy(update={"phase": "asked", "calls": calls})
        return Turn(plan=plan, state=state, started=frozenset(range(len(calls))))
    part, part_id = _open_part(step)
    unread = tuple(
        StreamedCall(id=frame["toolCallId"], provider_id="", name=frame["toolName"], json="") for frame in opened
    )
    left = OpenStep(message=state.message, part=part, part_id=part_id, calls=unread)
    return Turn(plan=plan, state=state, open_step=left)


def _open_part(step: tuple[dict[str, Any], ...]) -> tuple[str, str]:
    """Kind and id of the part that is open, two empty texts where none is."""
    part = ("", "")
    for frame in step:
        name, _, verb = frame["type"].partition("-")
        if name in ("text", "reasoning"):
            part = ("", "") if verb == "end" else (name, frame["id"])
    return part


def _call(step: int, ordinal: int, frame: dict[str, Any]) -> ToolCall:
    return ToolCall(step=step, ordinal=ordinal, id=frame["toolCallId"], provider_id="", name=frame["toolName"])
