"""The tools of a step: asked, started, finished, shown in call order (C1, C21)."""

import hashlib
import json
from dataclasses import replace

from engine.boundary import committed, next_step
from engine.fold import folded
from engine.numbers import UnreadableInput, for_browser, parse_input
from engine.settle import output_frame, result_message
from engine.values import Advance, OpenStep, RunTools, StreamedCall, Turn
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
    calls = tuple(_call(turn.state.step, ordinal, streamed) for ordinal, streamed in enumerate(step.calls))
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
    state = committed(turn)
    state = folded(state, frames)
    assistant: JsonObject = {"role": "assistant", "content": list(content)}
    update = {"history": (*state.history, assistant), "phase": "asked", "calls": calls}
    asked = replace(turn, state=state.model_copy(update=update), open_step=None)
    intents = {ledger_key(call): LedgerEntry(state="intended", tool=call.name) for call in calls}
    started = start(asked)
    return replace(started, frames=frames, boundary=True, ledger=intents | started.ledger)


def start(turn: Turn) -> Advance:
    """Start what may start now: all calls at once where the assistant allows it, else the next one."""
    waiting = [call for call in turn.state.calls if call.ordinal not in turn.started]
    running = [number for number in turn.started if number not in turn.results]
    if not turn.plan.parallel_tools:
        waiting = [] if running else waiting[:1]
    if not waiting:
        return Advance(turn=turn)
    started = turn.started | {call.ordinal for call in waiting}
    ledger = {ledger_key(call): LedgerEntry(state="started", tool=call.name) for call in waiting}
    return Advance(turn=replace(turn, started=started), ledger=ledger, command=RunTools(tuple(waiting)))


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
    frames = tuple(output_frame(call, turn.results[call.ordinal]) for call in news)
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


def _call(step: int, ordinal: int, streamed: StreamedCall) -> ToolCall:
    known = {"step": step, "ordinal": ordinal, "id": streamed.id, "provider_id": streamed.provider_id}
    try:
        return ToolCall(**known, name=streamed.name, input=parse_input(streamed.json))
    except UnreadableInput as error:
        return ToolCall(**known, name=streamed.name, error=f"The call was not made: {error}.")
