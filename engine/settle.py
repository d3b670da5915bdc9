"""How a turn ends: what is still open is closed, what never ran is told so, and the history stays one a model accepts."""

from dataclasses import replace

from engine import served
from engine.decision import awaits, response
from engine.fold import folded
from engine.prompt import without_thoughts
from engine.text import whole
from engine.values import Advance, OpenStep, Settle, Turn
from protocol.checkpoint import Outcome, Seal, ToolCall, ToolResult, TurnState
from protocol.errors import RETRYABLE, ErrorKind
from protocol.frames import Frame, data
from protocol.json import Json, JsonObject
from protocol.model import Usage

NOT_RUN = "Not run: the turn ended first."
UNKNOWN = "Started, but the turn ended before its outcome was known. Check before doing it again."
NO_OUTPUT = "(no output)"  # providers refuse empty text
PROMPTS = 8  # more are no help
PROMPT_LENGTH = 500  # code points

_NOT_OF_A_STOP = ("data-error", "error", "data-handoff", "data-suggested-prompts")
STOPPED = Outcome(status="stopped", finish_reason="other", kind="stopped", message="Stopped.")
OVER_BUDGET = Outcome(
    status="completed",
    finish_reason="stop",
    kind="budget",
    message="The budget for today is used up. It starts anew at midnight, UTC.",
)


def failed(kind: ErrorKind, message: str) -> Outcome:
    """The outcome of a run that could not be completed."""
    return Outcome(
        status="interrupted" if kind == "interrupted" else "failed", finish_reason="error", kind=kind, message=message
    )


def settle(turn: Turn, outcome: Outcome, content: tuple[JsonObject, ...] | None = None) -> Advance:
    """End the turn with this outcome. `content` is the model's last message, where it finished one."""
    in_step = turn.state.phase in ("open", "asked")
    state = turn.state
    finish: tuple[Frame, ...] = ({"type": "finish-step"},) if in_step else ()
    usage = data("usage", usage_of(state.usage, state.step))
    frames = (*_closing(turn), *finish, *_verdict(outcome), usage)
    before, own = state.history[: state.history_start], state.history[state.history_start :]
    history = (*before, *served.closed((*own, *_last_words(turn, content))))
    if turn.open_step:
        state = state.model_copy(update={"message": turn.open_step.message})
    update = {"phase": "settled", "outcome": outcome, "history": history, "calls": ()}
    settled = replace(turn, state=folded(state, frames).model_copy(update=update), open_step=None, results={}, shown=0)
    return Advance(turn=settled, frames=frames, command=Settle(outcome))


def stopped_instead(advance: Advance) -> Advance:
    """The same end as a stop: a stop was recorded before the seal, and recorded intent decides (C3)."""
    frames = tuple(frame for frame in advance.frames if frame["type"] not in _NOT_OF_A_STOP)
    frames = (*frames[:-1], *_verdict(STOPPED), frames[-1])
    state = advance.turn.state
    parts = tuple(part for part in state.message.parts if part["type"] not in _NOT_OF_A_STOP)
    message = state.message.model_copy(update={"parts": parts})
    state = state.model_copy(update={"outcome": STOPPED, "message": message})
    return Advance(turn=replace(advance.turn, state=state), frames=frames, command=Settle(STOPPED))


def suggesting(advance: Advance, prompts: tuple[str, ...]) -> Advance:
    """The same end with prompts that the user may go on with."""
    shown = [whole(prompt[:PROMPT_LENGTH]) for prompt in prompts[:PROMPTS]]
    frame: Frame = data("suggested-prompts", {"prompts": [*shown]})
    turn = replace(advance.turn, state=folded(advance.turn.state, (frame,)))
    return replace(advance, turn=turn, frames=(*advance.frames, frame))


def seal_of(state: TurnState, outcome: Outcome) -> Seal:
    """What is written once, for everyone who comes later (C3)."""
    own = state.history[state.history_start :]
    return Seal(
        outcome=outcome,
        message=state.message,
        provider=without_thoughts(own) if state.foreign else own,  # those of two providers are nobody's
        usage=state.usage,
        model=state.model,
        steps=state.step,
        observed=state.observed,
    )


def tail_of(seal: Seal, *, stored: bool) -> tuple[Frame, ...]:
    """The frames after the records were written, the terminal one last."""
    reply: dict[str, Json] = {
        "stored": stored,
        "model": seal.model,
        "grounded": False,
        "outcome": seal.outcome.status,
    }
    return (data("reply", reply), {"type": "finish", "finishReason": seal.outcome.finish_reason})


def usage_of(usage: Usage, steps: int) -> Json:
    """The data of a usage frame."""
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
        "steps": steps,
    }


def result_block(call: ToolCall, result: ToolResult) -> JsonObject:
    """A call's answer as the model reads it."""
    block: JsonObject = {
        "type": "tool_result",
        "tool_use_id": call.provider_id,
        "content": [{"type": "text", "text": result.text if result.text.strip() else NO_OUTPUT}],
    }
    if result.error:
        block["is_error"] = True
    return block


def result_message(calls: tuple[ToolCall, ...], results: dict[int, ToolResult]) -> JsonObject:
    """All answers of a step in one message, in call order: providers refuse anything else."""
    return {"role": "user", "content": [result_block(call, results[call.ordinal]) for call in calls]}


def output_frame(call: ToolCall, result: ToolResult) -> Frame:
    """A call's answer as a reader sees it."""
    if result.denied:
        return {"type": "tool-output-denied", "toolCallId": call.id}
    if result.error:
        return {"type": "tool-output-error", "toolCallId": call.id, "errorText": result.text, "dynamic": True}
    return {"type": "tool-output-available", "toolCallId": call.id, "output": result.output, "dynamic": True}


def output_frames(call: ToolCall, result: ToolResult) -> tuple[Frame, ...]:
    """The same, after what the call presented."""
    return (*(_artifact_frame(call, one) for one in result.artifacts), output_frame(call, result))


def _artifact_frame(call: ToolCall, artifact: JsonObject) -> Frame:
    shown: JsonObject = {key: value for key, value in artifact.items() if key != "id"}
    return data("artifact", {"toolCallId": call.id, **shown}, part_id=str(artifact["id"]))


def _closing(turn: Turn) -> tuple[Frame, ...]:
    if turn.state.phase == "asked":
        left = turn.state.calls[turn.shown :]
        return tuple(frame for call in left for frame in _ended_frames(turn, call))
    step = turn.open_step
    if step is None:
        return ()
    ended: tuple[Frame, ...] = ()
    if step.part:
        ended = ({"type": "text-end" if step.part == "text" else "reasoning-end", "id": step.part_id},)
    unread: tuple[Frame, ...] = tuple(
        {"type": "tool-output-error", "toolCallId": call.id, "errorText": NOT_RUN, "dynamic": True}
        for call in step.calls
    )
    return (*ended, *served.left(turn.state.step, step, goes_on=False)[1], *unread)


def _verdict(outcome: Outcome) -> tuple[Frame, ...]:
    if outcome.status == "stopped":
        return ({"type": "abort", "reason": "stopped"},)
    if outcome.kind == "budget":
        return (data("handoff", {"reason": outcome.kind, "payload": {"message": outcome.message}}),)
    if outcome.status == "completed":
        return ()
    error: JsonObject = {"kind": outcome.kind, "message": outcome.message, "retryable": outcome.kind in RETRYABLE}
    return (data("error", error), {"type": "error", "errorText": outcome.message})


def _last_words(turn: Turn, content: tuple[JsonObject, ...] | None) -> tuple[JsonObject, ...]:
    """What the history gains, so that every later request is well formed: no call without its answer, no empty text."""
    if turn.state.phase == "asked":
        results = {call.ordinal: _ended_result(turn, call) for call in turn.state.calls}
        return (result_message(turn.state.calls, results),)
    return said(_partial(turn.open_step) if content is None else content)


def said(content: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    """The model's last message as a history may hold it, if there is anything in it."""
    blocks = [block for block in content if block.get("type") != "tool_use" and not _empty(block)]
    blocks = served.without_last_thoughts(blocks)
    return ({"role": "assistant", "content": [*blocks]},) if blocks else ()


def _partial(step: OpenStep | None) -> tuple[JsonObject, ...]:
    return ({"type": "text", "text": step.text},) if step else ()


def _empty(block: JsonObject) -> bool:
    return block.get("type") == "text" and not str(block.get("text", "")).strip()


def _ended_frames(turn: Turn, call: ToolCall) -> tuple[Frame, ...]:
    outputs = output_frames(call, _ended_result(turn, call))
    if call.waits == "approval" and awaits(turn, call):
        return (response(call, approved=False, reason=NOT_RUN), *outputs)  # a button that does nothing must not stay
    return outputs


def _ended_result(turn: Turn, call: ToolCall) -> ToolResult:
    known = turn.results.get(call.ordinal)
    if known is not None:
        return known
    if awaits(turn, call):
        return ToolResult(ordinal=call.ordinal, text=NOT_RUN, error=True, denied=call.waits == "approval")
    return ToolResult(ordinal=call.ordinal, text=UNKNOWN if call.ordinal in turn.started else NOT_RUN, error=True)
