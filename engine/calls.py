"""The tools of a step: asked, started, finished, shown in call order (C1, C21)."""

import hashlib
import json
from dataclasses import replace
from typing import Literal

from engine.boundary import committed, next_step
from engine.decision import awaits, request
from engine.fold import folded
from engine.numbers import UnreadableInput, for_browser, parse_input
from engine.settle import output_frames, result_message
from engine.values import Advance, OpenStep, Park, Plan, RunTools, StreamedCall, Turn
from protocol.checkpoint import LedgerEntry, ToolCall, ToolResult
from protocol.frames import Frame
from protocol.json import JsonObject


def ledger_key(call: ToolCall) -> str:
    """Where the ledger keeps a call: by its place in the turn, which a second attempt cannot change."""
    return f"{call.step}.{call.ordinal}"


def ask(turn: Turn, step: OpenStep, content: tuple[JsonObject, ...]) -> Advance:
    """The model's message is complete and asks for tools.

    Message and intents are committed before any tool starts: from here on the step is neither asked again nor reset (C1).
    """
    calls = tuple(_call(turn, ordinal, streamed) for ordinal, streamed in enumerate(step.calls))
    frames: tuple[Frame, ...] = tuple(
        {
            "type": "tool-input-available",
            "toolCallId": call.id,
            "toolName": call.name,
            "input": for_browser(call.input),
            "dynamic": True,
        }
        for call in calls
    )
    frames = (*frames, *(frame for call in calls for frame in request(call)))
    state = committed(turn)
    state = folded(state, frames)
    assistant: JsonObject = {"role": "assistant", "content": list(content)}
    deadline_ms = turn.now_ms + turn.plan.wait_ms if any(call.waits for call in calls) else 0
    update = {"history": (*state.history, assistant), "phase": "asked", "calls": calls, "deadline_ms": deadline_ms}
    asked = replace(turn, state=state.model_copy(update=update), open_step=None)
    intents = {ledger_key(call): LedgerEntry(state="intended", tool=call.name) for call in calls}
    started = start(asked)
    return replace(started, frames=frames, boundary=True, ledger=intents | started.ledger)


def start(turn: Turn) -> Advance:
    """Start what may start now: all calls at once where the assistant allows it, else the next one.

    Where nothing runs and all that is left waits for a person, the turn parks.
    """
    waiting = tuple(call for call in turn.state.calls if awaits(turn, call))
    ready = [call for call in turn.state.calls if call.ordinal not in turn.started and call not in waiting]
    running = [number for number in turn.started if number not in turn.results]
    if not turn.plan.parallel_tools:
        ready = [] if running else ready[:1]
    if not ready:
        return Advance(turn=turn, command=Park() if waiting and not running else None)
    started = turn.started | {call.ordinal for call in ready}
    ledger = {ledger_key(call): LedgerEntry(state="started", tool=call.name) for call in ready}
    return Advance(turn=replace(turn, started=started), ledger=ledger, command=RunTools(tuple(ready)))


def tool_finished(turn: Turn, result: ToolResult) -> Advance:
    """A call gave its result. It is recorded at once and shown when all before it were (C21)."""
    call = turn.state.calls[result.ordinal]
    follow = show(replace(turn, results=turn.results | {result.ordinal: result}))
    finished = LedgerEntry(state="finished", tool=call.name, result=result)
    return replace(follow, ledger={ledger_key(call): finished} | follow.ledger)


def show(turn: Turn) -> Advance:
    """Show the results whose turn it is; close the step after the last one, else start what may start."""
    calls, shown = turn.state.calls, turn.shown
    while shown < len(calls) and shown in turn.results:
        shown += 1
    news = calls[turn.shown : shown]
    frames = tuple(frame for call in news for frame in output_frames(call, turn.results[call.ordinal]))
    ledger = {
        ledger_key(call): LedgerEntry(state="shown", tool=call.name, result=turn.results[call.ordinal]) for call in news
    }
    if shown == len(calls):
        return replace(_close(turn, frames), ledger=ledger)
    follow = start(replace(turn, shown=shown, state=folded(turn.state, frames)))
    return replace(follow, frames=frames, ledger=ledger | follow.ledger)


def _close(turn: Turn, frames: tuple[Frame, ...]) -> Advance:
    """All results are known: the step closes, with the outputs not shown yet."""
    calls = turn.state.calls
    made = _fingerprint(calls, turn.results)
    repeats = turn.state.repeats + 1 if made == turn.state.repeated_call else 1
    state = turn.state.model_copy(update={"repeated_call": made, "repeats": repeats})
    return next_step(replace(turn, state=state), (result_message(calls, turn.results),), frames)


def _fingerprint(calls: tuple[ToolCall, ...], results: dict[int, ToolResult]) -> str:
    """What was asked and what came of it: a step that repeats both makes no progress (FR41)."""
    made = [[call.name, call.input, results[call.ordinal].text, results[call.ordinal].error] for call in calls]
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()


def _call(turn: Turn, ordinal: int, streamed: StreamedCall) -> ToolCall:
    known = {
        "step": turn.state.step,
        "ordinal": ordinal,
        "id": streamed.id,
        "provider_id": streamed.provider_id,
        "name": streamed.name,
    }
    try:
        return ToolCall(**known, input=parse_input(streamed.json), waits=_waits(turn.plan, streamed.name))
    except UnreadableInput as error:
        return ToolCall(**known, error=f"The call was not made: {error}.")  # nobody is asked about it


def _waits(plan: Plan, name: str) -> Literal["", "approval", "question"]:
    if name in plan.question_tools:
        return "question"
    return "approval" if name in plan.approval_tools else ""
