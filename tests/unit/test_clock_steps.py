"""A host's clock that jumps in mid-run: a turn takes as long as it takes."""

import pytest

from checkpoints.memory import MemoryRunStore
from protocol.frames import Frame
from records.records import Records
from tests.rig import NOW_MS, Rig, StillClock
from tests.unit.test_turn_limits import loop

HOUR_MS = 3_600_000


class JumpingClock(StillClock):
    """Time passes at each boundary of the turn. At the first one the wall clock jumps besides."""

    def __init__(self, jump_ms: int) -> None:
        super().__init__()
        self._jump_ms = jump_ms
        self.passed = 0

    def now_ms(self) -> int:
        return NOW_MS + self.passed + (self._jump_ms if self.passed else 0)

    def monotonic_ms(self) -> int:
        return self.passed


async def played(jump_ms: int, run_seconds: float) -> tuple[str, list[Frame]]:
    clock = JumpingClock(jump_ms)
    async with await Records.in_memory() as records:
        rig = Rig(records=records, clock=clock, store=MemoryRunStore(clock))
        rig.with_limits(run_seconds=run_seconds, repeated_calls=99, steps=5)

        async def age(_: str) -> None:
            clock.passed += 4_000

        rig.fault = age
        await rig.begin("Go.")
        results = await rig.run(loop(), slice_ms=0)
        return results[-1].status, await rig.frames()


@pytest.mark.parametrize("run_seconds", [10.0, 3_600.0])
@pytest.mark.parametrize("jump_ms", [-HOUR_MS, HOUR_MS])
async def test_a_wall_clock_that_jumps_changes_nothing(jump_ms: int, run_seconds: float) -> None:
    """FR47: limits, leases and slices are measured by a clock that only goes on."""
    assert await played(jump_ms, run_seconds) == await played(0, run_seconds)
