"""Runs that nobody executes: found in the records, adopted inline, or ended where nothing is left of them.

The list is SQL (C11), the judgement is the store's. Two sweeps in a row without a lease make an orphan: that is longer than a
lease of a store that answers. How long a row has not changed is measured by whoever looks at it: the clocks of two processes
are never compared. All processes may sweep at once, the claim decides who adopts.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from checkpoints.port import RunStore, RunView
from dispatch.temporal import Workflows
from protocol.clock import Clock
from records.records import Records
from records.values import Run, Settlement

SWEEP_SECONDS: Final = 5.0
YOUNG_MS: Final = 5_000  # a run on its way from its row to its first claim
MISSING_MS: Final = 60_000  # as long as a run may hang once nothing is left of it but its row
AT_ONCE: Final = 1_000  # rows looked at in one sweep, the oldest first


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a sweep found."""

    idle: dict[str, int] = field(default_factory=dict)  # run id → its attempt, of runs without a lease
    # run id → the row's last change by its writer's clock, and since when we see that one, by ours; of runs without keys
    missing: dict[str, tuple[int, int]] = field(default_factory=dict)


class Sweeper:
    """One process's sweeps. `adopt` begins an inline executor; it may lose the claim."""

    def __init__(
        self,
        *,
        records: Records,
        store: RunStore,
        workflows: Workflows,
        adopt: Callable[[str, RunView], None],
        clock: Clock,
    ) -> None:
        self._records = records
        self._store = store
        self._workflows = workflows
        self._adopt = adopt
        self._clock = clock
        self._seen = _Seen()

    async def sweep(self) -> None:
        """Look at every unfinished run once. Raises TurnkeepError where records or store are away: nothing is judged then."""
        before, seen = self._seen, _Seen()
        self._seen = _Seen()  # after a sweep that failed nothing counts: a store that was away let leases lapse
        for run in await self._records.unfinished(self._clock.now_ms() - YOUNG_MS, AT_ONCE):
            # A run on another process's memory log has no keys, and none may be looked for: it is not ours to claim (C6).
            view = None if run.memory else await self._store.view(run.run_id)
            if view is None:
                seen.missing[run.run_id] = await self._end_missing(run, before.missing.get(run.run_id))
            elif view.state != "ended" and not view.lease_ms and self._due(view):
                seen.idle[run.run_id] = view.attempt
                if before.idle.get(run.run_id) == view.attempt and await self._orphaned(run.run_id, view):
                    self._adopt(run.run_id, view)
        self._seen = seen

    def _due(self, view: RunView) -> bool:
        """Whether there is something to do. A parked run waits without a lease, and without anybody to look after it (C7)."""
        return view.state != "parked" or view.stop or view.unread > 0 or self._clock.now_ms() >= view.until_ms

    async def _orphaned(self, run_id: str, view: RunView) -> bool:
        """Whether nobody else will take the run up. Queued and between slices are not orphaned (C7)."""
        if view.stop or view.mode == "inline" or view.state == "parked":
            return True
        running = await self._workflows.running(run_id, max(view.order.generation, 1))
        # Never claimed and the server silent: the claim keeps a workflow that does exist from running it twice.
        return running is False if view.mode == "workflow" else not running

    async def _end_missing(self, run: Run, before: tuple[int, int] | None) -> tuple[int, int]:
        """End a run of which only the row is left, once that has not changed for long. What is to be remembered of it."""
        now = self._clock.monotonic_ms()
        since = before[1] if before and before[0] == run.updated_ms else now
        if now - since > MISSING_MS:
            settlement = Settlement(status="interrupted", kind="interrupted", now_ms=self._clock.now_ms())
            await self._records.settle(run.run_id, settlement)
        return run.updated_ms, since
