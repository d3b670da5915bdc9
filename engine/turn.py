"""The turn as a state machine: how it begins, is resumed, is stopped, and where a step's events go.

Every function takes the turn and what happened, and answers with the turn after it, the frames to append and what to do
next. A fresh turn and a resumed one leave by the same door: an `Advance` with a command.
"""

from dataclasses import dataclass, replace

from engine.boundary import TIME_IS_UP
from engine.calls import ledger_key, show
from engine.fold import folded
from engine.settle import OVER_BUDGET, STOPPED, failed, output_frames, settle
from engine.values import Advance, CallModel, Plan, Turn
from protocol.checkpoint import LedgerEntry, Message, Outcome, ToolCall, ToolResult, TurnState
from protocol.errors import ErrorKind
from protocol.frames import Frame, data
from protocol.json import JsonObject

OUTCOME_UNKNOWN = (
    "This call was started, but the process that made it died before the outcome was known. It may or may not have taken "
    "effect: find out before you repeat it."
)


def begin(plan: Plan, history: tuple[JsonObject, ...], *, left_out: int = 0) -> Advance:
    """A fresh turn. `history` ends with the user's message; so many older messages than are in it were left out."""
    cut: tuple[Frame, ...] = (data("context", {"truncated": left_out}),) if left_out else ()
    frames: tuple[Frame, ...] = (
        {"type": "start", "messageId": plan.message_id},
        data(
            "run",
            {
                "runId": plan.run_id,
                "conversationId": plan.conversation_id,
                "assistant": plan.assistant,
                "model": plan.model,
            },
        ),
        data("config", {"thinking": plan.thinking, "fast": plan.fast}),
        *cut,
        {"type": "start-step"},
    )
    state = TurnState(
        run_id=plan.run_id,
        message=Message(id=plan.message_id),
        history=history,
        history_start=len(history),
        phase="open",
        step=1,
        model=plan.model,
    )
    turn = Turn(plan=plan, state=folded(state, frames))
    return Advance(turn=turn, frames=frames, boundary=True, command=CallModel())


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a new attempt finds beside the checkpoint.

    `frames_beyond`: readers have, or may have, frames after the checkpoint's boundary. `went_back`: the store may lack what
    was written last, so that a call it calls intended may have been made (C9).
    """

    attempt: int
    frames_beyond: bool
    went_back: bool = False


def resume(plan: Plan, state: TurnState, ledger: dict[str, LedgerEntry], found: Found) -> Advance:
    """Go on from a checkpoint.

    Frames of a step the model had not finished are withdrawn; those of an asked step are outputs, and stand (C1, C2).
    """
    turn = Turn(plan=plan, state=state)
    if state.phase == "asked":
        return _resume_calls(turn, ledger, went_back=found.went_back)
    frames: tuple[Frame, ...] = ()
    if found.frames_beyond:
        frames = (data("recovering", {"attempt": found.attempt}), {"type": "reset-step"})
        turn = replace(turn, state=folded(state, frames))
    return Advance(turn=turn, frames=frames, command=CallModel())


def stop(turn: Turn) -> Advance:
    """The user stopped the turn: what was shown is kept."""
    return settle(turn, STOPPED)


def over_budget(turn: Turn) -> Advance:
    """The model may not be asked any more today: the turn is handed off with what was shown (REQ-Q5)."""
    return settle(turn, OVER_BUDGET)


def run_out(turn: Turn) -> Advance:
    """The turn's time is over."""
    return settle(turn, TIME_IS_UP)


def give_up(turn: Turn, kind: ErrorKind, message: str) -> Advance:
    """The turn cannot go on for a reason outside of it."""
    return settle(turn, failed(kind, message))


def end_at_once(advance: Advance, outcome: Outcome) -> Advance:
    """End a turn that was only just begun or resumed: nothing is asked and no tool is called."""
    started = advance.turn.begun_before | frozenset(advance.turn.results)
    ended = settle(replace(advance.turn, started=started), outcome)
    return replace(ended, frames=(*advance.frames, *ended.frames))


def elapsed(turn: Turn, milliseconds: int, now_ms: int) -> Turn:
    """The turn with this much time used, over all its slices, at this time of the wall clock."""
    return replace(turn, state=turn.state.model_copy(update={"elapsed_ms": milliseconds}), now_ms=now_ms)


def _resume_calls(turn: Turn, ledger: dict[str, LedgerEntry], *, went_back: bool) -> Advance:
    """The calls of an asked step after a crash: finished ones keep their result, none is repeated that must not be."""
    results: dict[int, ToolResult] = {}
    begun: set[int] = set()
    approved: set[int] = set()
    shown = 0
    for call in turn.state.calls:
        entry = ledger.get(ledger_key(call), LedgerEntry(state="intended"))
        result = _known_result(turn.plan, call, entry, went_back=went_back)
        if result is not None:
            results[call.ordinal] = result
        if entry.state not in ("intended", "approved"):
            begun.add(call.ordinal)
        if entry.state in ("approved", "started"):
            approved.add(call.ordinal)
        if entry.state == "shown":
            shown += 1
    outputs = tuple(frame for call in turn.state.calls[:shown] for frame in output_frames(call, results[call.ordinal]))
    turn = replace(
        turn,
        state=folded(turn.state, outputs),
        results=results,
        started=frozenset(results),
        approved=frozenset(approved),
        shown=shown,
    )
    return show(replace(turn, begun_before=frozenset(begun)))


def _known_result(plan: Plan, call: ToolCall, entry: LedgerEntry, *, went_back: bool) -> ToolResult | None:
    if entry.result is not None:
        return entry.result
    asked = call.name in plan.question_tools  # nothing is called, so it may be asked again
    if (entry.state == "started" or went_back) and call.name not in plan.safe_tools and not asked:
        return ToolResult(ordinal=call.ordinal, text=OUTCOME_UNKNOWN, error=True, unknown=True)
    return None
