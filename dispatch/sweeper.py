"""Runs that nobody executes: found in the records, judged by what store and server say of them, adopted, ended or finished.

Rules
 - The list is SQL, all of it, page by page (C11). The judgement is `dispatch.judge`'s.
 - A run stays on the list until its log was seen to have its end. The answer may be stored and its executor dead before the
   terminal frame: whoever comes takes that from the seal. Nobody else writes down that a run is finished, so no turn waits for it.
 - A lease counts as lost when two looks, a full lease apart, found none and no look failed in between: a store that was
   away let leases lapse whose executors live (C11). The same for keys that are missing.
 - How long something has not changed is measured by whoever looks: the clocks of two processes are never compared.
 - All processes sweep at once. An adoption is a start that is joined or a claim that is lost, whoever comes second.
 - What becomes of one run never keeps a sweep from the others.

Bound (LAW-P1): a run of which nobody keeps hold is adopted or ended within 60 s, counted from the return of what was away.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

from checkpoints.port import RunStore, RunView
from dispatch.judge import Seen, Verdict, judge
from dispatch.temporal import Workflows
from protocol.checkpoint import Seal
from protocol.clock import Clock
from protocol.errors import ErrorKind, away
from records.records import Records
from records.values import Run, Settlement
from runner.settlement import settlement_of

logger = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 5.0
YOUNG_MS: Final = 5_000  # a run on its way from its row to its first claim
PAGE: Final = 200
MISSING_MS: Final = 45_000  # as long as a run may hang once nothing is left of it but its row
RECOVERY_MS: Final = 15_000  # for Temporal to put another executor in a dead one's place, once it has noticed
AGAIN_MS: Final = 10_000  # between two judgements of the same standstill: each asks the server
SELDOM_MS: Final = 300_000  # the longest, for a run that may wait for days (LAW-P8)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweeperParts:
    """What a sweeper works with. `run_ms` is how long a run of an assistant may take, `covered` whether the switch sends an owner's to Temporal.

    `adopt` and `end` begin something and return at once; `on_lost` is told of a run that ended with nothing left of it.
    """

    records: Records
    store: RunStore
    workflows: Workflows
    clock: Clock
    adopt: Callable[[Run, RunView, Verdict], None]
    end: Callable[[Run, RunView, ErrorKind], None]
    covered: Callable[[str], bool]
    run_ms: Callable[[str], int]
    on_lost: Callable[[str], None]
    lease_ms: int
    heartbeat_ms: int


@dataclass(slots=True)
class _Standstill:
    """Since when a run is seen as it is: in an attempt without a lease, or without keys and its row as it was at that time."""

    mark: tuple[str, int]
    since_ms: int
    judged_ms: int | None = None
    pause_ms: int = AGAIN_MS


class Sweeper:
    """One process's sweeps."""

    def __init__(self, parts: SweeperParts) -> None:
        self._parts = parts
        self._standing: dict[str, _Standstill] = {}
        self._server_silent = False

    async def sweep(self) -> None:
        """Look at every unfinished run once. Raises TurnkeepError where records or store are away: nothing is judged then."""
        before, self._standing = self._standing, {}
        still: dict[str, _Standstill] = {}
        self._server_silent = False
        async for run, view in self._unfinished():
            if view is None or (view.state != "ended" and not view.lease_ms):
                mark = self._mark(run, view)
                known = before.get(run.run_id)
                still[run.run_id] = known if known and known.mark == mark else _Standstill(mark, self._now())
            try:
                await self._treat(run, view, still.get(run.run_id))
            except Exception as error:
                if away(error):
                    raise
                # Without its text, which may quote the turn.
                logger.error("a sweep raised %s", type(error).__qualname__, extra={"run_id": run.run_id})  # noqa: TRY400 - see above
        self._standing = still

    def _mark(self, run: Run, view: RunView | None) -> tuple[str, int]:
        if view is None:
            return "row", run.updated_ms
        # From the moment it is due a parked run stands still anew: whoever is to wake up is given the time to.
        return "due" if view.due(self._parts.clock.now_ms()) else "attempt", view.attempt

    def _now(self) -> int:
        return self._parts.clock.monotonic_ms()

    async def _unfinished(self) -> AsyncIterator[tuple[Run, RunView | None]]:
        older_than, last = self._parts.clock.now_ms() - YOUNG_MS, None
        while True:
            page = await self._parts.records.unfinished(older_than, PAGE, last)
            found = list(zip(page, await asyncio.gather(*map(self._view, page)), strict=True))
            over = [run.run_id for run, view in found if _over(run, view)]
            if over:
                await self._parts.records.finished(over, self._parts.clock.now_ms())
            for run, view in found:
                if not _over(run, view):
                    yield run, view
            if len(page) < PAGE:
                return
            last = page[-1]

    async def _view(self, run: Run) -> RunView | None:
        # A run on another process's memory log has no keys, and none may be looked for: it is not ours to claim (C6).
        return None if run.memory else await self._parts.store.view(run.run_id)

    async def _treat(self, run: Run, view: RunView | None, standstill: _Standstill | None) -> None:
        if view is not None and view.state == "ended":
            await self._settle_from_seal(run)
        elif view is None and standstill is not None:
            await self._end_missing(run, standstill)
        elif view is not None and standstill is not None and self._due(standstill):
            standstill.judged_ms = self._now()
            if run.ended_ms is None:
                await self._see_to(run, view, standstill)
            else:  # its answer is stored, and only its log lacks the end: the seal says how it ended
                logger.info("finishing a run", extra={"run_id": run.run_id, "attempt": view.attempt})
                self._parts.end(run, view, "interrupted")

    async def _see_to(self, run: Run, view: RunView, standstill: _Standstill) -> None:
        verdict = await self._judge(run, view, standstill)
        if view.state == "parked" and verdict is Verdict.LEAVE:
            standstill.pause_ms = min(2 * standstill.pause_ms, SELDOM_MS)
        self._carry_out(verdict, run, view)

    def _due(self, standstill: _Standstill) -> bool:
        now = self._now()
        if standstill.judged_ms is not None:
            return now - standstill.judged_ms >= standstill.pause_ms
        return standstill.since_ms < now - self._parts.lease_ms

    async def _judge(self, run: Run, view: RunView, standstill: _Standstill) -> Verdict:
        parts, order = self._parts, view.order
        committed = await parts.store.committed(run.run_id, order.generation, order.slice)
        seen = Seen(
            view=view,
            workflow_open=await self._workflow_open(run.run_id, max(order.generation, 1)),
            due=view.due(parts.clock.now_ms()),
            handed_over=committed is not None,
            waited=self._now() - standstill.since_ms >= parts.heartbeat_ms + RECOVERY_MS,
            switched_off=not parts.covered(run.owner),
            overdue=parts.clock.now_ms() - run.updated_ms > parts.run_ms(run.assistant),
        )
        return judge(seen)

    async def _workflow_open(self, run_id: str, generation: int) -> bool | None:
        if self._server_silent:
            return None  # it took its time to say nothing: not once more for each of a thousand runs
        answer = await self._parts.workflows.running(run_id, generation)
        self._server_silent = answer is None
        return answer

    def _carry_out(self, verdict: Verdict, run: Run, view: RunView) -> None:
        match verdict:
            case Verdict.ADOPT | Verdict.ADOPT_HERE:
                logger.info(
                    "adopting a run", extra={"run_id": run.run_id, "transport": view.mode, "attempt": view.attempt}
                )
                self._parts.adopt(run, view, verdict)
            case Verdict.EXPIRE:
                self._parts.end(run, view, "timeout")
            case Verdict.LEAVE:
                pass

    async def _settle_from_seal(self, run: Run) -> None:
        """Its readers saw the end and its row says nothing of it: the records lost a commit, or never had it."""
        sealed = await self._parts.store.sealed(run.run_id)
        if sealed is not None:
            seal = Seal.model_validate_json(sealed)
            await self._parts.records.settle(run.run_id, settlement_of(seal, self._parts.clock.now_ms()))

    async def _end_missing(self, run: Run, standstill: _Standstill) -> None:
        # The process that has a memory run says so in its row, again and again; an executor that still has the frames of a
        # run without keys puts them back.
        if self._now() - standstill.since_ms < MISSING_MS:
            return
        now = self._parts.clock.now_ms()
        if await self._parts.records.settle(
            run.run_id, Settlement(status="interrupted", kind="interrupted", now_ms=now)
        ):
            self._parts.on_lost(run.run_id)


def _over(run: Run, view: RunView | None) -> bool:
    return run.ended_ms is not None and (view is None or view.state == "ended")
