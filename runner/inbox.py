"""What a person said to a run: read from its inbox, or waited for by nobody (C12, C22, LAW-P8)."""

from checkpoints.port import Grip, Order, Parking, Refusal, Unread
from engine.decision import awaits
from engine.values import Turn
from protocol.errors import LostClaim
from protocol.turn import SliceResult, TurnInput
from runner.parts import Parts


async def unread(parts: Parts, grip: Grip, taken: int) -> list[TurnInput]:
    """The inputs after the first ones, which are taken in. Raises LostClaim."""
    found = await parts.store.inputs(grip, taken)
    if isinstance(found, Refusal):
        raise LostClaim
    return [TurnInput.model_validate_json(one) for one in found]


async def park(parts: Parts, grip: Grip, order: Order, *, now: Turn, frames: int) -> SliceResult | list[TurnInput]:
    """Leave the run to whoever decides or answers.

    A result says that nobody executes the run any more. Else it goes on: with what was said meanwhile, or with nothing
    where it is to be stopped. Raises LostClaim.
    """
    state = now.state
    wait_ms = max(1, state.deadline_ms - parts.clock.now_ms())
    result = SliceResult(outcome="parked", steps=state.step, frames=frames, wait_ms=wait_ms)
    waiting = tuple(call.id for call in state.calls if awaits(now, call))
    parking = Parking(taken=state.taken, until_ms=state.deadline_ms, waiting=waiting)
    reply = await parts.store.park(grip, parking, result.model_dump_json().encode(), order)
    if isinstance(reply, Refusal):
        raise LostClaim
    if isinstance(reply, Unread):
        return [TurnInput.model_validate_json(one) for one in reply.inputs]
    parts.observer.handed_over(grip.run_id, "parked")
    return result
