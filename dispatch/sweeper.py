"""Runs that nobody executes: found in the records, adopted inline, or ended where nothing is left of them.

The list is SQL (C11), the judgement is the store's. Two sweeps in a row without a lease make an orphan: that is longer than a
lease of a store that answers, and no clock is compared. All processes may sweep at once, the claim decides who adopts.
"""

from collections.abc import Callable
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
        self._suspects: dict[str, int] = {}  # run id → its attempt, of runs without a lease at the last sweep

    async def sweep(self) -> None:
        """Look at every unfinished run once. Raises TurnkeepError where records or store are away: nothing is judged then."""
        before, suspects = self._suspects, dict[str, int]()
        self._suspects = {}  # after a sweep that failed nothing counts: a store that was away let leases lapse
        for run in await self._records.unfinished(self._clock.now_ms() - YOUNG_MS, AT_ONCE):
            # A run on another process's memory log has no keys, and none may be looked for: it is not ours to claim (C6).
            view = None if run.memory else await self._store.view(run.run_id)
            if view is None:
                await self._end_missing(run)
            elif view.state != "ended" and not view.lease_ms:
                suspects[run.run_id] = view.attempt
                if before.get(run.run_id) == view.attempt and await self._orphaned(run.run_id, view):
                    self._adopt(run.run_id, view)
        self._suspects = suspects

    async def _orphaned(self, run_id: str, view: RunView) -> bool:
        """Whether nobody else will take the run up. Queued and between slices are not orphaned (C7)."""
        if view.stop or view.mode == "inline":
            return True
        running = await self._workflows.running(run_id, max(view.order.generation, 1))
        # Never claimed and the server silent: the claim keeps a workflow that does exist from running it twice.
        return running is False if view.mode == "workflow" else not running

    async def _end_missing(self, run: Run) -> None:
        now = self._clock.now_ms()
        if now - run.updated_ms > MISSING_MS:
            await self._records.settle(run.run_id, Settlement(status="interrupted", kind="interrupted", now_ms=now))
