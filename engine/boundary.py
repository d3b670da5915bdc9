"""The closed boundary: a step is done, its history committed, and the next one begins in the same write (C1, C2)."""

from dataclasses import replace

from engine.fold import folded
from engine.settle import failed, settle
from engine.values import Advance, CallModel, Plan, Turn
from protocol.checkpoint import Outcome, Trying, TurnState
from protocol.frames import Frame, data
from protocol.json import JsonObject


def committed(turn: Turn) -> TurnState:
    """The state with what the open step has shown."""
    step = turn.open_step
    if step is None:
        return turn.state
    return turn.state.model_copy(
        update={"message": step.message, "texts": step.texts, "thoughts": step.thoughts, "last_text": step.last_text}
    )


def next_step(
    turn: Turn, history: tuple[JsonObject, ...], frames: tuple[Frame, ...] = (), *, steer: bool = True
) -> Advance:
    """Close the step with these messages and frames, and begin the next one, unless a limit ends the run here.

    What the user said meanwhile goes along, unless `steer` says that nothing may stand between (the model only paused).
    """
    state = committed(turn)
    update = {"history": (*state.history, *history), "calls": (), "phase": "open", "deadline_ms": 0, "trying": Trying()}
    state = state.model_copy(update=update)
    turn = replace(
        turn,
        state=state,
        open_step=None,
        results={},
        started=frozenset(),
        begun_before=frozenset(),
        approved=frozenset(),
        shown=0,
    )
    limit = limit_reached(turn.plan, state)
    if limit is not None:
        ended = settle(replace(turn, state=folded(state, frames)), limit)
        return replace(ended, frames=(*frames, *ended.frames))
    loop = data("loop", {"step": state.step + 1, "limit": turn.plan.steps})
    state, steering = _steered(state) if steer else (state, ())
    closing: tuple[Frame, ...] = (*frames, {"type": "finish-step"}, *steering, loop, {"type": "start-step"})
    state = folded(state, closing).model_copy(update={"phase": "open", "step": state.step + 1})
    return Advance(turn=replace(turn, state=state), frames=closing, boundary=True, command=CallModel())


def _steered(state: TurnState) -> tuple[TurnState, tuple[Frame, ...]]:
    """What the user said, in the next message to the model and in the log."""
    words: list[JsonObject] = [{"type": "text", "text": one.text} for one in state.steering]
    if not words:
        return state, ()
    *before, last = state.history
    if last["role"] == "user" and isinstance(last["content"], list):
        history = (*before, {**last, "content": [*last["content"], *words]})  # after the results: providers want it so
    else:
        history = (*state.history, {"role": "user", "content": [*words]})
    frames: tuple[Frame, ...] = tuple(
        {"type": "steering-message", "id": one.id, "parts": [{"type": "text", "text": one.text}]}
        for one in state.steering
    )
    return state.model_copy(update={"history": history, "steering": ()}), frames


def limit_reached(plan: Plan, state: TurnState) -> Outcome | None:
    """The limit that forbids another step, if one does. Each is a typed end with a message for the reader."""
    if state.step >= plan.steps:
        return failed("step_limit", f"The turn was ended after {plan.steps} steps.")
    if state.usage.total >= plan.run_tokens:
        return failed("token_limit", "The turn was ended: it used all the tokens it may use.")
    if state.elapsed_ms >= plan.run_ms:
        return TIME_IS_UP
    if state.repeats >= plan.repeated_calls:
        return failed("step_limit", f"The turn was ended: the same call gave the same result {state.repeats} times.")
    return None


TIME_IS_UP = failed("timeout", "The turn was ended: it took longer than it may take.")
