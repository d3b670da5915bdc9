"""What a person says to a turn under way: decisions, answers, steering (C12).

A decision counts where its call still waits for one, and the first one counts; everything else changes nothing. In an asked
step inputs are committed as they come, with what follows from them. While the model speaks nothing may be committed (the
step might be asked again), so steering waits in the turn, and in the inbox, for the next boundary.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from engine.calls import ledger_key, show
from engine.decision import awaits, response
from engine.fold import folded
from engine.numbers import for_browser
from engine.settle import failed, settle
from engine.values import Advance, Turn
from protocol.checkpoint import LedgerEntry, Steered, ToolCall, ToolResult
from protocol.frames import Frame
from protocol.json import Json
from protocol.turn import TurnInput

DENIED = "The user declined this call, so it was not made."
UNANSWERED = failed("unanswered", "The turn was ended: nobody answered in time.")


def take_in(turn: Turn, inputs: Sequence[TurnInput]) -> Advance:
    """What follows from these inputs, the next ones of the inbox."""
    steered = tuple(Steered(id=one.id, text=one.text) for one in inputs if one.type == "steer")
    update = {"taken": turn.state.taken + len(inputs), "steering": (*turn.state.steering, *steered)}
    turn = replace(turn, state=turn.state.model_copy(update=update))
    if turn.state.phase != "asked":
        return Advance(turn=turn)
    frames: tuple[Frame, ...] = ()
    ledger: dict[str, LedgerEntry] = {}
    for one in inputs:
        call = next((call for call in turn.state.calls if call.id == one.target and awaits(turn, call)), None)
        if call is not None and (decided := _decided(turn, call, one)):
            turn = decided.turn
            frames, ledger = (*frames, *decided.frames), ledger | decided.ledger
    follow = show(replace(turn, state=folded(turn.state, frames)))
    return replace(follow, frames=(*frames, *follow.frames), ledger=ledger | follow.ledger, boundary=True)


def expire(turn: Turn) -> Advance:
    """Nobody said anything in time."""
    return settle(turn, UNANSWERED)


def _decided(turn: Turn, call: ToolCall, one: TurnInput) -> Advance | None:
    """The turn after one input that concerns a waiting call. None where it is no answer to what was asked."""
    match call.waits, one.type:
        case "approval", "approve":
            approved = replace(turn, approved=turn.approved | {call.ordinal})
            ledger = {ledger_key(call): LedgerEntry(state="approved", tool=call.name)}
            return Advance(turn=approved, frames=(response(call, approved=True, reason=one.text),), ledger=ledger)
        case "approval", "deny":
            text = f"{DENIED} They said: {one.text}" if one.text else DENIED
            denied = _answered(turn, call, ToolResult(ordinal=call.ordinal, text=text, error=True, denied=True))
            return replace(denied, frames=(response(call, approved=False, reason=one.text),))
        case "question", "answer":
            result = ToolResult(ordinal=call.ordinal, text=_words(one.value), output=for_browser(one.value))
            return _answered(turn, call, result)
        case _:
            return None


def _answered(turn: Turn, call: ToolCall, result: ToolResult) -> Advance:
    results = turn.results | {call.ordinal: result}
    answered = replace(turn, results=results, started=turn.started | {call.ordinal})
    entry = LedgerEntry(state="finished", tool=call.name, result=result)
    return Advance(turn=answered, ledger={ledger_key(call): entry})


def _words(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
