"""Every place where an executor can be cut off while its model fails, and what the next attempt makes of it (C1, C2)."""

import pytest

from records.records import Records
from tests.golden.test_failing import NAMES, prepare
from tests.rig import Rig, StillClock
from tests.unit.test_recovery import CutOff, check, one_attempt


def rig_of(records: Records) -> tuple[Rig, CutOff]:
    clock = StillClock()
    store = CutOff(clock)
    return Rig(records=records, clock=clock, store=store), store


@pytest.mark.parametrize("write_first", [True, False], ids=["after the write", "before the write"])
@pytest.mark.parametrize("name", NAMES)
async def test_cut_off_at_any_write_the_next_attempt_ends_the_turn(name: str, write_first: bool) -> None:
    """LAW-P1 LAW-P2 LAW-P3 [L8] [L9]"""
    cut, left = 0, True
    while left:
        async with await Records.in_memory() as records:
            rig, store = rig_of(records)
            script = prepare(rig, name)
            await rig.begin(script.input)
            store.allowed, store.write_first = cut, write_first
            first = await one_attempt(rig, script, 1)
            left = first.outcome != "ended"
            store.allowed = 10_000
            rig.clock.now += rig.settings.lease_ms + 1
            result = await one_attempt(rig, script, 2)
            assert result.outcome == "ended", cut
            await check(rig, records)
        cut += 1
