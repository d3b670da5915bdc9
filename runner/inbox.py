"""What a person said to a run: read from its inbox, or waited for by nobody (C12, C22, LAW-P8)."""

from functools import partial

from checkpoints.port import Grip, Order, Refusal
from checkpoints.waiting import Parking, Unread
from engine.decision import awaits
from engine.values import Turn
from protocol.errors import LostClaim
from protocol.turn import SliceResult, TurnInput
from runner.hold import Hold
from runner.parts import Parts
from runner.patience import patiently
from runner.writer import FrameWriter


class Inbox:
    """The inbox of one executor's run."""

    def __init__(self, parts: Parts, hold: Hold, writer: FrameWriter) -> None:
        self._parts = parts
        self._hold = hold
        self._writer = writer

    async def unread(self, taken: int) -> list[TurnInput]:
        """The inputs after the first ones, which are taken in. Raises LostClaim or StoreUnavailable."""
        while True:
            grip = self._hold.grip
            found = await patiently(self._parts, partial(self._parts.store.inputs, grip, taken))
            if not isinstance(found, Refusal):
                return self._said(found)
            if not self._lost(found, grip):
                raise LostClaim
            await self._writer.mend()

    async def park(self, now: Turn, order: Order) -> SliceResult | list[TurnInput]:
        """Leave the run to whoever decides or answers.

        A result says that nobody executes the run any more. Else it goes on: with what was said meanwhile, or with nothing
        where it is to be stopped. Raises LostClaim or StoreUnavailable.
        """
        state = now.state
        waiting = tuple(call.id for call in state.calls if awaits(now, call))
        parking = Parking(taken=state.taken, until_ms=state.deadline_ms, waiting=waiting)
        wait_ms = max(1, state.deadline_ms - self._parts.clock.now_ms())
        frames = self._writer.next_index
        result = SliceResult(outcome="parked", steps=state.step, frames=frames, wait_ms=wait_ms)
        reply = await patiently(self._parts, lambda: self._leave(parking, result, order))
        if isinstance(reply, Refusal):
            raise LostClaim
        if isinstance(reply, Unread):
            return self._said(reply.inputs)
        self._parts.observer.handed_over(self._hold.grip.run_id, "parked")
        return result

    async def _leave(self, parking: Parking, result: SliceResult, order: Order) -> Unread | Refusal | None:
        while True:
            await self._writer.mend()  # nobody is there to do it later
            grip = self._hold.grip
            reply = await self._parts.store.park(grip, parking, result.model_dump_json().encode(), order)
            if not self._lost(reply, grip):
                return reply

    def _lost(self, reply: object, grip: Grip) -> bool:
        """Whether the store lost the run, and it is put back or just being put back: then it is we who fenced that grip."""
        put_back = self._hold.restoring or grip is not self._hold.grip
        return reply is Refusal.MISSING or (reply is Refusal.FENCED and put_back)

    def _said(self, items: tuple[bytes, ...]) -> list[TurnInput]:
        said = [TurnInput.model_validate_json(item) for item in items]
        self._writer.heard({one.id: item for one, item in zip(said, items, strict=True)})
        return said
