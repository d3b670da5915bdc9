"""What a process does for runs that are not its own: takes up orphans, brings late answers to the records, erases the deleted.

API processes do it, and workers: whichever is left. An orphan goes on from its checkpoint under the next generation, as a
workflow where the switch allows, else in the process that found it (C8, C22).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, NoReturn, Self

from checkpoints.outbox import Outbox
from checkpoints.port import Order, RunStore, RunView
from dispatch.decide import decide
from dispatch.erasure import ERASE_SECONDS, Erasure
from dispatch.inline import InlineTurns
from dispatch.judge import Verdict
from dispatch.loops import every
from dispatch.outbox import REPLAY_SECONDS, OutboxReplay
from dispatch.starter import Starter
from dispatch.sweeper import SWEEP_SECONDS, Sweeper, SweeperParts
from dispatch.temporal import Started, Workflows
from dispatch.watch import POLL_SECONDS, SwitchWatch
from protocol.clock import Clock
from protocol.errors import ErrorKind
from protocol.turn import ChatTurnInput
from records.records import Records
from records.values import Run

GENERATIONS: Final = 3  # workflows that may close without a claim; then the run is executed here
LONGEST_RUN_MS: Final = 86_400_000
PROBE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CareParts:
    """What care takes. `run_ms` is how long a run of an assistant may take; `on_lost` hears of a run of which nothing was left.

    `on_late` hears how many answers wait for the records. Neither may raise.
    """

    store: RunStore
    outbox: Outbox
    records: Records
    workflows: Workflows
    switch: SwitchWatch
    clock: Clock
    lease_ms: int = 2_000
    slice_ms: int = 180_000
    heartbeat_ms: int = 5_000
    erase_after_ms: int = 86_400_000
    kept_ms: int = 86_400_000  # a log, after its run's end
    run_ms: Callable[[str], int] = field(default=lambda _: LONGEST_RUN_MS)
    on_lost: Callable[[str], None] = field(default=lambda _: None)
    on_late: Callable[[int], None] = field(default=lambda _: None)


class Caretaker:
    """One process's care, while entered. `inline` is where it executes what it takes up itself; its owner drains it."""

    def __init__(self, parts: CareParts, starter: Starter, inline: InlineTurns) -> None:
        self._parts = parts
        self._starter = starter
        self._inline = inline
        self._late = OutboxReplay(parts.outbox, parts.records, parts.clock)
        self._erasure = Erasure(
            parts.records, parts.store, parts.clock, after_ms=parts.erase_after_ms, kept_ms=parts.kept_ms
        )
        self._work: set[asyncio.Task[None]] = set()  # each of them bounded
        self._loops: list[asyncio.Task[NoReturn]] = []
        self._sweeper = Sweeper(
            SweeperParts(
                records=parts.records,
                store=parts.store,
                workflows=parts.workflows,
                clock=parts.clock,
                adopt=self._adopt,
                end=self._end,
                covered=self._covered,
                run_ms=parts.run_ms,
                on_lost=parts.on_lost,
                lease_ms=parts.lease_ms,
                heartbeat_ms=parts.heartbeat_ms,
            )
        )

    @property
    def late(self) -> int:
        """How many answers waited for the records when last looked."""
        return self._late.waiting

    async def __aenter__(self) -> Self:
        # So that the first turn is decided on facts. Both are bounded; a part that is away is not waited for.
        await asyncio.gather(self._parts.switch.refresh(), self._starter.probe())
        loops = (
            every(POLL_SECONDS, self._parts.switch.refresh, "watching the switch"),
            every(PROBE_SECONDS, self._starter.probe, "probing Temporal"),
            every(SWEEP_SECONDS, self.sweep, "sweeping"),
            every(REPLAY_SECONDS, self.replay, "bringing late answers to the records"),
            every(ERASE_SECONDS, self._erasure.round, "erasing what was deleted"),
        )
        self._loops = [asyncio.create_task(loop) for loop in loops]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for loop in self._loops:
            loop.cancel()
        await self.settled()

    async def sweep(self) -> None:
        """Look at every unfinished run once."""
        await self._sweeper.sweep()

    async def replay(self) -> None:
        """Bring late answers to the records."""
        try:
            await self._late.replay()
        finally:
            self._parts.on_late(self._late.waiting)

    async def settled(self) -> None:
        """Wait until everything begun on the way has found out who executes."""
        while self._work:
            await asyncio.wait(self._work)

    def _adopt(self, run: Run, view: RunView, verdict: Verdict) -> None:
        if verdict is Verdict.ADOPT and self._durable(run):
            task = asyncio.create_task(self._start(run.run_id, view))
            self._work.add(task)
            task.add_done_callback(self._work.discard)
        else:
            self._inline.begin(run.run_id, next_order(view))

    def _covered(self, owner: str) -> bool:
        return self._parts.switch.current.covers(owner)

    def _durable(self, run: Run) -> bool:
        switch, breaker_open = self._parts.switch.current, self._starter.breaker_open
        return decide(run.owner, switch=switch, breaker_open=breaker_open, envelope_bytes=0).transport == "workflow"

    async def _start(self, run_id: str, view: RunView) -> None:
        parts, first = self._parts, next_order(view).generation
        for generation in range(first, first + GENERATIONS):
            turn = ChatTurnInput(
                run_id=run_id, generation=generation, slice_ms=parts.slice_ms, heartbeat_ms=parts.heartbeat_ms
            )
            started = await self._starter.start(turn)
            if started is Started.RUNNING:
                return
            if started is Started.UNKNOWN:
                break  # it may have been accepted: then it meets us at the claim
        self._inline.begin(run_id, next_order(view))

    def _end(self, run: Run, view: RunView, kind: ErrorKind) -> None:
        self._inline.end(run.run_id, next_order(view), kind)


def next_order(view: RunView) -> Order:
    """The order of an inline adopter: above every executor before it, below a workflow of its own generation."""
    return Order(view.order.generation + 1, 0, 1)
