"""One step's model call: its events become frames, its end decides what comes next."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TypeVar, cast

from engine import served
from engine.boundary import committed, limit_reached, next_step
from engine.calls import ask
from engine.failing import with_less
from engine.fold import fold
from engine.settle import said, settle
from engine.text import joined, whole_json
from engine.values import Advance, OpenStep, StreamedCall, Turn
from protocol.checkpoint import Outcome
from protocol.frames import Frame, PartEnd, ToolInputStart, data
from protocol.json import JsonObject
from protocol.model import (
    BlockEnded,
    Cited,
    Compacted,
    ModelEvent,
    ServedCall,
    ServedResult,
    Stopped,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
)

Emitted = tuple[OpenStep, tuple[Frame, ...]]
Item = TypeVar("Item")

FAILED_STOPS: dict[str, Outcome] = {
    "max_tokens": Outcome(
        status="failed",
        finish_reason="length",
        kind="max_tokens",
        message="The answer was cut off: it reached the length limit.",
    ),
    "context_window": Outcome(
        status="failed",
        finish_reason="length",
        kind="context_overflow",
        message="The conversation is too long for the model.",
    ),
    "refusal": Outcome(
        status="failed", finish_reason="content-filter", kind="refused", message="The model declined to answer."
    ),
}
PIECE = 16_384  # code points of one delta: escaped they take at most 12 bytes each, and a frame holds 256 KB
EMPTY = Outcome(status="failed", finish_reason="error", kind="empty_answer", message="The model gave no answer.")
COMPLETED = Outcome(status="completed", finish_reason="stop")


def open_step(turn: Turn) -> OpenStep:
    """A fresh step on top of the state."""
    state = turn.state
    return OpenStep(message=state.message, texts=state.texts, thoughts=state.thoughts, last_text=state.last_text)


def model_event(turn: Turn, event: ModelEvent) -> Advance:
    """What follows from one event of the model call."""
    step = turn.open_step or open_step(turn)
    match event:
        case TextDelta(text=text):
            return _emit(turn, *_all(_text, *_held(step, text)))
        case ThinkingDelta(text=text):
            return _emit(turn, *_all(_thinking, *_held(step, text)))
        case ToolInputDelta():
            deltas = [replace(event, json=piece) for piece in _pieces(event.json)] or [event]
            return _emit(turn, *_all(partial(_tool_input, turn.state.step), step, deltas))
        case BlockEnded(signature=signature):
            return _emit(turn, *_end_part(step, signature))
        case ServedCall() | ServedResult() | Cited():
            return _emit(turn, *_served(turn, step, event))
        case Compacted():
            return _emit(turn, *_compacted(step))
        case Stopped():
            return _stopped(turn, step, event)


def needs_space_between(before: str, after: str) -> bool:
    """Whether two text parts need a joining space: parts are shown and read as one text (REQ-B11)."""
    return bool(before) and bool(after) and not before[-1].isspace() and not after[0].isspace()


def _emit(turn: Turn, step: OpenStep, frames: tuple[Frame, ...]) -> Advance:
    message = step.message
    for frame in frames:
        message = fold(message, frame)
    return Advance(turn=replace(turn, open_step=replace(step, message=message)), frames=frames)


def _held(step: OpenStep, text: str) -> tuple[OpenStep, list[str]]:
    """The text in pieces that a frame holds, and the step with the half character that has to wait."""
    text, held = joined(step.held, text)
    return step if held == step.held else replace(step, held=held), _pieces(text)


def _pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def _all(emit: Callable[[OpenStep, Item], Emitted], step: OpenStep, items: Iterable[Item]) -> Emitted:
    frames: tuple[Frame, ...] = ()
    for item in items:
        step, more = emit(step, item)
        frames = (*frames, *more)
    return step, frames


def _text(step: OpenStep, text: str) -> Emitted:
    frames: tuple[Frame, ...] = ()
    shown = text
    if step.part != "text":
        step, frames = _end_part(step, None)
        if needs_space_between(step.last_text, text):
            shown = " " + text
        step = replace(step, part="text", part_id=f"t{step.texts + 1}", texts=step.texts + 1)
        frames = (*frames, {"type": "text-start", "id": step.part_id})
    delta: Frame = {"type": "text-delta", "id": step.part_id, "delta": shown}
    return replace(step, text=step.text + text, last_text=text[-1]), (*frames, delta)


def _thinking(step: OpenStep, text: str) -> Emitted:
    frames: tuple[Frame, ...] = ()
    if step.part != "reasoning":
        step, frames = _end_part(step, None)
        step = replace(step, part="reasoning", part_id=f"r{step.thoughts + 1}", thoughts=step.thoughts + 1)
        frames = (*frames, {"type": "reasoning-start", "id": step.part_id})
    return step, (*frames, {"type": "reasoning-delta", "id": step.part_id, "delta": text})


def _end_part(step: OpenStep, signature: str | None) -> Emitted:
    if not step.part:
        return replace(step, held=""), ()
    end: PartEnd = {"type": "text-end" if step.part == "text" else "reasoning-end", "id": step.part_id}
    if signature is not None and step.part == "reasoning":
        end["providerMetadata"] = {"anthropic": {"signature": signature}}
    return replace(step, part="", part_id="", held=""), (end,)


def _compacted(step: OpenStep) -> Emitted:
    step, frames = _end_part(step, None)
    return step, (*frames, data("context", {"compacted": True}))


def _served(turn: Turn, step: OpenStep, event: ServedCall | ServedResult | Cited) -> Emitted:
    """What the provider did by itself. A source may stand inside a text, a call ends it."""
    if isinstance(event, Cited):
        return step, served.source(step, event)
    step, ended = _end_part(step, None)
    number, history = turn.state.step, turn.state.history
    if isinstance(event, ServedCall):
        step, frames = served.called(number, step, event)
    else:
        step, frames = served.answered(number, step, event, history)
    return step, (*ended, *frames)


def _tool_input(number: int, step: OpenStep, event: ToolInputDelta) -> Emitted:
    frames: tuple[Frame, ...] = ()
    known = [at for at, call in enumerate(step.calls) if call.provider_id == event.id]
    if known:
        at = known[-1]
        call = step.calls[at]
    else:
        step, frames = _end_part(step, None)
        at = len(step.calls)
        call = StreamedCall(id=f"c{number}.{at}", provider_id=event.id, name=event.name, json="")
        start: ToolInputStart = {
            "type": "tool-input-start",
            "toolCallId": call.id,
            "toolName": call.name,
            "dynamic": True,
        }
        frames = (*frames, start)
    if event.json:
        frames = (*frames, {"type": "tool-input-delta", "toolCallId": call.id, "inputTextDelta": event.json})
    call = replace(call, json=call.json + event.json)
    return replace(step, calls=(*step.calls[:at], call, *step.calls[at + 1 :])), frames


def _stopped(turn: Turn, step: OpenStep, stop: Stopped) -> Advance:
    content = tuple(cast("JsonObject", whole_json(block)) for block in stop.content)
    stop = replace(stop, content=content)
    step, more = _backfill(step, stop)
    step, ended = _end_part(step, None)
    goes_on = stop.reason == "pause_turn" or (stop.reason == "tool_use" and bool(step.calls))
    step, unanswered = served.left(turn.state.step, step, goes_on=goes_on)
    emitted = _emit(turn, step, (*more, *ended, *unanswered))
    step = emitted.turn.open_step or step
    usage = turn.state.usage.plus(stop.usage)
    asked = stop.model or turn.plan.asked(turn.state.fallback)
    state = turn.state.model_copy(update={"usage": usage, "model": asked, "container": stop.container})
    follow = _follow(replace(emitted.turn, state=state), step, stop)
    return replace(follow, frames=(*emitted.frames, *follow.frames))


def _follow(turn: Turn, step: OpenStep, stop: Stopped) -> Advance:
    if stop.reason == "tool_use" and step.calls:
        return ask(turn, step, stop.content)
    if stop.reason == "pause_turn":
        # The provider paused a long turn: its message goes back as it is, and the next step continues.
        said_so_far: JsonObject = {"role": "assistant", "content": [*stop.content]}
        return next_step(turn, (said_so_far,) if stop.content else (), steer=False)
    if stop.reason == "context_window" and (shorter := with_less(turn)) is not None:
        return shorter
    if stop.reason in FAILED_STOPS:
        outcome = FAILED_STOPS[stop.reason].model_copy(update={"details": stop.details})
        return settle(turn, outcome, stop.content)
    if not any(part["type"] == "text" and str(part["text"]).strip() for part in step.message.parts):
        return settle(turn, EMPTY, stop.content)
    if turn.state.steering and limit_reached(turn.plan, committed(turn)) is None:
        return next_step(turn, said(stop.content))  # the user spoke while the answer was written: it goes on
    return settle(turn, COMPLETED, stop.content)


def _backfill(step: OpenStep, stop: Stopped) -> Emitted:
    """Text that only the finished message holds is shown before the end (REQ-B24)."""
    whole = "".join(str(block["text"]) for block in stop.content if block.get("type") == "text")
    if len(whole) > len(step.text) and whole.startswith(step.text):
        return _text(step, whole[len(step.text) :])
    return step, ()
