"""A run store in this process: for turns while Redis is away, and for tests.

It keeps the laws of `checkpoints/port.py` and, structurally, those of `frames/port.py`. One event loop only: no method
awaits between its check and its write, which is what makes each of them one step. Nothing survives the process; listeners
and stop watchers are called inside the write that concerns them.
"""

from collections.abc import Callable
from heapq import heappop, heappush

from checkpoints.budget import RESERVE_AHEAD, Budget
from checkpoints.memory_run import MemoryRun, put_back
from checkpoints.port import (
    Append,
    Appended,
    Claimed,
    ClaimRequest,
    Grip,
    Loaded,
    Order,
    Refusal,
    Refused,
    Remains,
    RunView,
    Sealed,
)
from checkpoints.waiting import Parking, Unread
from protocol.clock import Clock
from protocol.log import Entry, Page, Pushed


class MemoryRunStore:
    """RunStore and FrameSource over plain dictionaries.

    `durable` is what it says of durable writes: tests take it for a server, a process that has no other store says no.
    """

    def __init__(self, clock: Clock, *, budget: Budget | None = None, durable: bool = True) -> None:
        self.server = "here"  # tests let another one take its place
        self._clock = clock
        self._durable = durable
        self._budget = budget or Budget()
        self._runs: dict[str, MemoryRun] = {}
        self._expiries: list[tuple[int, str]] = []
        self._listeners: dict[str, Callable[[Pushed], None]] = {}
        self._watchers: dict[str, tuple[Callable[[], None], Callable[[], None] | None]] = {}

    async def open(self, run_id: str, request: bytes) -> bool:
        if self._run(run_id) is not None:
            return False
        self._runs[run_id] = MemoryRun(request=request)
        return True

    async def claim(self, run_id: str, claim: ClaimRequest) -> Claimed | Refused:
        run = self._run(run_id)
        if run is None:
            return Refused(why=Refusal.MISSING)
        refused = self._refuse_claim(run, claim)
        if refused is not None:
            return refused
        parked = run.parked is not None
        run.deaths = run.died_of(claim)
        run.attempt += 1
        run.owner = claim.owner
        run.held = True
        run.order = claim.order
        run.mode = claim.mode
        run.lease_until = self._clock.monotonic_ms() + claim.lease_ms
        if run.state == "open":
            run.state = "running"
        went_back = run.server not in ("", self.server) and not parked
        if not went_back:
            run.server, run.reserved = self.server, max(run.reserved, run.next + RESERVE_AHEAD)
        return run.claimed(run_id, self._budget, went_back=went_back)

    async def restore(self, grip: Grip, claim: ClaimRequest, remains: Remains) -> Claimed | Refusal:
        run = self._run(grip.run_id)
        if run is not None and (run.owner != grip.owner or not run.held):
            return Refusal.FENCED
        if run is not None and run.seal is not None:
            return Refusal.CLOSED
        lease_until = self._clock.monotonic_ms() + claim.lease_ms
        restored = put_back(grip, claim, remains, run, lease_until)
        restored.server, restored.reserved = self.server, remains.next + RESERVE_AHEAD
        self._runs[grip.run_id] = restored
        return restored.claimed(grip.run_id, self._budget, went_back=False)

    def _refuse_claim(self, run: MemoryRun, claim: ClaimRequest) -> Refused | None:
        if run.state == "ended":
            return Refused(why=Refusal.ENDED, status=run.status)
        if claim.order.key < run.order.key:
            return Refused(why=Refusal.STALE)
        another = claim.owner != run.owner  # else it is its own claim again, after a lost reply
        if another and (lease := self._lease(run)):
            return Refused(why=Refusal.BUSY, wait_ms=lease)
        return Refused(why=Refusal.EXHAUSTED) if another and run.died_of(claim) >= claim.max_deaths else None

    async def load(self, grip: Grip) -> Loaded | Refusal:
        run = self._held(grip)
        if isinstance(run, Refusal):
            return run
        return Loaded(request=run.request, deltas=tuple(run.deltas), index=run.delta_at[0], ledger=dict(run.ledger))

    async def renew(self, grip: Grip, lease_ms: int) -> Appended | Refusal:
        run = self._held(grip)
        if isinstance(run, Refusal):
            return run
        if run.state == "ended":
            return Refusal.CLOSED
        run.lease_until = self._clock.monotonic_ms() + lease_ms
        return run.appended()

    async def append(self, grip: Grip, append: Append) -> Appended | Refusal:
        run = self._held(grip)
        if isinstance(run, Refusal):
            return run
        if run.seal is not None:
            return Refusal.CLOSED
        refused = run.misfit(append, self._budget.room(0))
        if refused is not None:
            return refused
        self._write(grip, run, append)
        if append.reserve:
            run.reserved, run.server = append.reserve, self.server
        return Appended(run.next, run.stop, self._durable or not append.reserve)

    async def seal(
        self, grip: Grip, append: Append, seal: bytes, *, stop_seen: bool, inputs_seen: int | None = None
    ) -> Sealed | Appended | Refusal:
        run = self._held(grip)
        if isinstance(run, Refusal):
            return run
        if run.seal is None:
            first = Refusal.STOP_FIRST if run.stop and not stop_seen else None
            if first is None and inputs_seen is not None and run.inbox.count > inputs_seen:
                first = Refusal.INPUT_FIRST
            refused = first or run.misfit(append, self._budget.log_bytes)
            if refused is not None:
                return refused
            self._write(grip, run, append)
            run.state = "sealed"
            run.seal = seal
            run.sealed_by = grip.attempt
            run.deaths = 0
        return Sealed(next=run.next, seal=run.seal, ours=run.sealed_by == grip.attempt, durable=self._durable)

    async def finish(self, grip: Grip, append: Append, status: str, retention_ms: int) -> Appended | Refusal:
        run = self._held(grip)
        if isinstance(run, Refusal):
            return run
        if run.seal is None:
            return Refusal.UNSEALED
        if run.state == "ended" or append.start != run.next:
            return run.appended()
        self._write(grip, run, append)  # whatever its size: a run that cannot end is worse than a log that is too long
        run.state = "ended"
        run.status = status
        run.lease_until = 0
        heappush(self._expiries, (self._clock.monotonic_ms() + retention_ms, grip.run_id))
        self._push(Pushed(grip.run_id, run.next, 0, b"", ended=True))
        return run.appended()

    async def release(self, grip: Grip, committed: bytes | None, order: Order) -> bool:
        run = self._run(grip.run_id)
        if run is None or (run.attempt, run.owner) != (grip.attempt, grip.owner):
            return False
        run.held = False
        run.lease_until = 0
        if committed is not None:
            run.committed[order.generation, order.slice] = committed
        return True

    async def committed(self, run_id: str, generation: int, slice_number: int) -> bytes | None:
        run = self._run(run_id)
        return None if run is None else run.committed.get((generation, slice_number))

    async def stop(self, run_id: str) -> RunView | None:
        run = self._run(run_id)
        if run is None:
            return None
        if run.seal is None and not run.stop:
            run.stop = True
            if watcher := self._watchers.get(run_id):
                watcher[0]()
        return self._view(run)

    async def put_input(self, run_id: str, item_id: str, item: bytes) -> RunView | Refusal:
        run = self._run(run_id)
        if run is None:
            return Refusal.MISSING
        before = len(run.inbox.inputs)
        refused = run.inbox.put(item_id, item, closed=run.seal is not None)
        if refused is not None:
            return refused
        _, on_input = self._watchers.get(run_id, (None, None))
        if on_input is not None and len(run.inbox.inputs) > before:
            on_input()
        return self._view(run)

    async def inputs(self, grip: Grip, taken: int) -> tuple[bytes, ...] | Refusal:
        run = self._held(grip)
        return run if isinstance(run, Refusal) else run.inbox.after(taken)

    async def park(self, grip: Grip, parking: Parking, result: bytes, order: Order) -> Unread | Refusal | None:
        run = self._held(grip)
        if isinstance(run, Refusal):
            return run
        if run.seal is not None:
            return Refusal.CLOSED
        if run.stop or (unread := run.inbox.after(parking.taken)):
            return Unread(() if run.stop else unread)
        run.inbox.park(parking, run.attempt)
        run.deaths = 0
        await self.release(grip, result, order)
        return None

    async def watch_stop(
        self, run_id: str, callback: Callable[[], None], on_input: Callable[[], None] | None = None
    ) -> None:
        self._watchers[run_id] = (callback, on_input)

    async def unwatch_stop(self, run_id: str) -> None:
        self._watchers.pop(run_id, None)

    async def erase(self, run_id: str) -> None:
        self._runs.pop(run_id, None)

    async def view(self, run_id: str) -> RunView | None:
        run = self._run(run_id)
        return None if run is None else self._view(run)

    async def read(self, run_id: str, start: int, max_bytes: int) -> Page | None:
        run = self._run(run_id)
        return None if run is None else run.page(start, max_bytes)

    async def ledger(self, run_id: str) -> dict[str, bytes]:
        run = self._run(run_id)
        return {} if run is None else dict(run.ledger)

    async def sealed(self, run_id: str) -> bytes | None:
        run = self._run(run_id)
        return None if run is None else run.seal

    async def subscribe(self, run_id: str, listener: Callable[[Pushed], None]) -> None:
        self._listeners[run_id] = listener

    async def unsubscribe(self, run_id: str) -> None:
        self._listeners.pop(run_id, None)

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Nothing is ever lost between two dictionaries: the callback is not kept."""

    def _run(self, run_id: str) -> MemoryRun | None:
        while self._expiries and self._expiries[0][0] <= self._clock.monotonic_ms():
            self._runs.pop(heappop(self._expiries)[1], None)
        return self._runs.get(run_id)

    def _held(self, grip: Grip) -> MemoryRun | Refusal:
        run = self._run(grip.run_id)
        if run is None:
            return Refusal.MISSING
        # Released counts as fenced: a renewal sent just before the release must not bring the lease back to life.
        if not run.held or (run.attempt, run.owner) != (grip.attempt, grip.owner):
            return Refusal.FENCED
        return run

    def _lease(self, run: MemoryRun) -> int:
        return max(0, run.lease_until - self._clock.monotonic_ms())

    def _view(self, run: MemoryRun) -> RunView:
        return run.view(self._lease(run))

    def _write(self, grip: Grip, run: MemoryRun, append: Append) -> None:
        boundary = (append.start + append.count, grip.attempt)
        if append.delta is not None and not run.repeats(append, boundary):
            run.deltas.append(append.delta)
            run.delta_at = boundary
            run.deaths = 0
        run.ledger.update(append.ledger)
        if append.count:
            run.next += append.count
            run.size += len(append.payload)
            run.entries.append(Entry(run.next, append.count, append.payload))
            self._push(Pushed(grip.run_id, run.next, append.count, append.payload))

    def _push(self, pushed: Pushed) -> None:
        if listener := self._listeners.get(pushed.run_id):
            listener(pushed)
