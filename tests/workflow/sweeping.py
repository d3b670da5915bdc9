"""Sweeps on the bench: five seconds apart, and what they begin is noted instead of done."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from checkpoints.memory import MemoryRunStore
from checkpoints.port import ClaimRequest, Order, RunView
from dispatch.judge import Verdict
from dispatch.sweeper import Sweeper, SweeperParts
from dispatch.temporal import Workflows
from protocol.errors import StoreUnavailable
from protocol.turn import Transport
from records.values import Run
from tests.rig import Rig

SWEEP_MS = 5_001


class FaultyStore(MemoryRunStore):
    """While `away` it does not answer; about the run `broken` it says what nobody understands."""

    away = False
    broken = ""

    async def view(self, run_id: str) -> RunView | None:
        if self.away:
            raise StoreUnavailable
        return await super().view(run_id)

    async def committed(self, run_id: str, generation: int, slice_number: int) -> bytes | None:
        if run_id == self.broken:
            raise ValueError("a fault of ours")
        return await super().committed(run_id, generation, slice_number)


def faulty(rig: Rig) -> FaultyStore:
    """The rig's store, where it is one."""
    assert isinstance(rig.store, FaultyStore)
    return rig.store


async def nothing() -> None:
    """Nothing happens between two sweeps."""


@dataclass
class Sweeps:
    """One process's sweeper, and what it did: run id and verdict, or "lost"."""

    rig: Rig
    workflows: Workflows
    run_ms: int = 86_400_000
    done: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        rig = self.rig
        self._sweeper = Sweeper(
            SweeperParts(
                records=rig.records,
                store=rig.store,
                workflows=self.workflows,
                clock=rig.clock,
                adopt=self._adopt,
                end=lambda run, _, kind: self.done.append((run.run_id, "expire" if kind == "timeout" else "finish")),
                covered=lambda _: True,
                run_ms=lambda _: self.run_ms,
                on_lost=lambda run_id: self.done.append((run_id, "lost")),
                lease_ms=2_000,
                heartbeat_ms=5_000,
            )
        )

    async def sweep(self, times: int = 2, *, after: Callable[[], Awaitable[None]] = nothing) -> list[tuple[str, str]]:
        """Sweep so many times. What was done by then."""
        for _ in range(times):
            self.rig.clock.now += SWEEP_MS
            await self._sweeper.sweep()
            await after()
        return self.done

    def _adopt(self, run: Run, _: RunView, verdict: Verdict) -> None:
        self.done.append((run.run_id, verdict.value))


async def claimed(rig: Rig, run_id: str, mode: Transport) -> None:
    """The run as an executor left it that died a while ago."""
    order = Order(1, 1, 1) if mode == "workflow" else Order(1, 0, 1)
    await rig.store.claim(run_id, ClaimRequest(order=order, owner="dead", mode=mode))
    rig.clock.now += 2_000
