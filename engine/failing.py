"""What follows when a model call fails: the same call again, another model, or the end (REQ-G2, REQ-H10).

Only inside the turn, and only within its bounds: so many tries of a model in a step, and no wait that is longer than what is
left of the turn's time. What the call had shown is withdrawn, and where the turn stands then (who is asked, how often he
was, from when on, what was used) is committed in the same write: whoever goes on neither starts to count anew nor waits anew.

A step that is asked is never here: its call has succeeded (C1). A refusal is never tried again, by nobody.
"""

from dataclasses import replace

from engine.context import squeezed
from engine.fold import folded
from engine.settle import settle
from engine.values import Advance, CallModel, Turn
from protocol.checkpoint import Outcome, Trying, TurnState
from protocol.errors import ProviderError
from protocol.frames import Frame, data

FIRST_WAIT_MS = 500
LONGEST_WAIT_MS = 30_000  # of our own choice; a provider may name a longer one


def model_failed(turn: Turn, error: ProviderError, chance: float) -> Advance:
    """What follows. `chance`, from 0 to 1, spreads the tries of many turns that failed at the same moment."""
    turn = replace(turn, state=turn.state.model_copy(update={"usage": turn.state.usage.plus(error.usage)}))
    if error.kind == "context_overflow":
        return with_less(turn) or _end(turn, error)
    if not error.passing:
        return _end(turn, error)
    left_ms = turn.plan.run_ms - turn.state.elapsed_ms
    others = turn.state.fallback < len(turn.plan.fallbacks)
    again_ms = wait_ms(turn.state.trying.tries, error, chance)
    patient = again_ms < left_ms and (again_ms <= LONGEST_WAIT_MS or not others)
    if turn.state.trying.tries + 1 < turn.plan.tries and patient:
        return _again(turn, error, again_ms)
    return _fall_back(turn, error) if others else _end(turn, error)


def wait_ms(tries: int, error: ProviderError, chance: float) -> int:
    """How long to wait before the next try: at least as long as the provider says, else twice as long each time."""
    longest = min(LONGEST_WAIT_MS, FIRST_WAIT_MS << tries)
    own = int(longest * (1 + chance) / 2)
    if error.retry_after is None:
        return own
    return int(error.retry_after * 1000) + own - longest // 2  # all were told the same, and must not come at once


def _again(turn: Turn, error: ProviderError, again_ms: int) -> Advance:
    tries = turn.state.trying.tries + 1
    trying = turn.state.trying.model_copy(update={"tries": tries, "not_before_ms": turn.now_ms + again_ms})
    waiting = data("rate-limited", {"retryAfterMs": again_ms, "reason": error.kind, "attempt": tries + 1})
    return _restarted(turn, turn.state.model_copy(update={"trying": trying}), waiting)


def _fall_back(turn: Turn, error: ProviderError) -> Advance:
    """Ask the next model, and stay with it for the rest of the turn: the first one would fail the next step as well."""
    state, plan = turn.state, turn.plan
    following = state.fallback + 1
    to = plan.fallbacks[following - 1]
    update = {
        "fallback": following,
        "trying": Trying(squeezed=state.trying.squeezed),
        "model": to.model,
        "container": "",  # it is the other provider's
        "foreign": len(state.history) if to.foreign else state.foreign,
    }
    told = data("model-fallback", {"from": plan.asked(state.fallback), "to": to.model, "reason": error.kind})
    return _restarted(turn, state.model_copy(update=update), told)


def with_less(turn: Turn) -> Advance | None:
    """The same call with about half the history, because it was too long; once in a step, and where nothing was shown yet."""
    state = turn.state
    cut = squeezed(state.history, state.history_start)
    if cut is None or state.trying.squeezed or _shown(turn):
        return None
    update = {
        "history": cut.messages,
        "history_start": cut.start,
        "foreign": max(0, state.foreign - cut.left_out),
        "trying": state.trying.model_copy(update={"squeezed": True}),
    }
    told = data("context", {"overflow": True, "truncated": cut.left_out})
    return _restarted(turn, state.model_copy(update=update), told)


def _shown(turn: Turn) -> bool:
    return turn.open_step is not None and turn.open_step.message != turn.state.message


def _restarted(turn: Turn, state: TurnState, told: Frame) -> Advance:
    """The step from its beginning, with this state: nothing of the failed call stays but what it cost (REQ-B25)."""
    reset: tuple[Frame, ...] = ({"type": "reset-step"},) if _shown(turn) else ()
    frames = (*reset, told)
    again = replace(turn, state=folded(state, frames), open_step=None)
    return Advance(turn=again, frames=frames, boundary=True, command=CallModel())


def _end(turn: Turn, error: ProviderError) -> Advance:
    """The run ends with what was shown so far."""
    reason = "length" if error.kind in ("context_overflow", "max_tokens") else "error"
    return settle(turn, Outcome(status="failed", finish_reason=reason, kind=error.kind, message=error.message))
