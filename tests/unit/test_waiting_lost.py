"""A store that is emptied under an executor that lives (C5, C12): what a person said to the turn is not lost with it."""

import pytest

from checkpoints.port import Grip, Order, Refusal
from checkpoints.waiting import Parking, Unread
from records.records import Records
from tests.forgetful import Forgetful, Reader
from tests.golden.test_waiting import play
from tests.rig import RUN_ID, Rig, StillClock
from tests.waiting import waiting_tools


class Attentive(Forgetful):
    """Notes how many inputs its executor has read."""

    heard = 0

    async def inputs(self, grip: Grip, taken: int) -> tuple[bytes, ...] | Refusal:
        reply = await super().inputs(grip, taken)
        self.heard = taken + (0 if isinstance(reply, Refusal) else len(reply))
        return reply

    async def park(self, grip: Grip, parking: Parking, result: bytes, order: Order) -> Unread | Refusal | None:
        reply = await super().park(grip, parking, result, order)
        self.heard = parking.taken + (len(reply.inputs) if isinstance(reply, Unread) else 0)
        return reply

    def forget(self) -> None:
        """Everything is gone, but not where it is all that there is of what somebody said."""
        if RUN_ID not in self._runs or self._runs[RUN_ID].inbox.count <= self.heard:
            self.flush()


def forget(store: Forgetful) -> None:
    assert isinstance(store, Attentive)
    store.forget()


async def emptied(name: str, at: int) -> tuple[Reader, Forgetful, list[str]]:
    """One turn whose store loses everything before write number `at`."""
    async with await Records.in_memory() as records:
        clock = StillClock()
        store, reader = Attentive(clock, at, forget), Reader()
        rig = Rig(records=records, clock=clock, store=store)
        rig.more_tools = waiting_tools(rig.outside)
        await store.subscribe(RUN_ID, reader.take)
        results = await play(rig, name)
        assert results[-1].outcome == "ended", at
        return reader, store, rig.outside.effects


@pytest.mark.parametrize("name", ["approved", "answered", "denied", "steered_while_parked", "steered_while_speaking"])
async def test_what_was_said_outlives_the_store(name: str) -> None:
    """C5 C12 LAW-P3 S19: decided once, done once, and in the transcript once."""
    whole, store, effects = await emptied(name, 10_000)
    for at in range(store.writes):
        reader, _, done = await emptied(name, at)

        assert (reader.message.parts, done) == (whole.message.parts, effects), at
