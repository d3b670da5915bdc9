"""A run store in this process: for turns while Redis is away, and for tests.

It keeps the laws of `checkpoints/port.py` and, structurally, those of `frames/port.py`. One event loop only: no method
awaits between its check and its write, which is what makes each of them one step. Nothing survives the process; listeners
and stop watchers are called inside the write that concerns them.
"""

from bisect import bisect_right
from collections.abc import Callable
from heapq import heappop, heappush

from checkpoints.budget import MAX_LOG_BYTES, RESERVE_BYTES
from checkpoints.memory_run import Run
from checkpoints.port import (
    Append,
    Appended,
    Claimed,
    ClaimRequest,
    Grip,
    Loaded,
    Order,
    Parking,
    Refusal,
    Refused,
    RunView,
    Sealed,
    Unread,
)
from protocol.clock import Clock
from protocol.log import Entry, Page, Pushed


class MemoryRunStore:
    """RunStore and FrameSource over plain dictionaries. Sizes in bytes, for each run's log."""

    def __init__(self, clock: Clock, *, max_log_bytes: int = MAX_LOG_BYTES, reserve_bytes: int = RESERVE_BYTES) -> None:
        self._clock = clock
        self._max_log_bytes = max_log_bytes
        self._reserve_bytes = reserve_bytes
        self._runs: dict[str, Run] = {}
        self._expiries: list[tuple[int, str]] = []
        self._listeners: dict[str, Callable[[Pushed], None]] = {}
        self._watchers: dict[str, tuple[Callable[[], None], Callable[[], None] | None]] = {}

    async def open(self, run_id: str, request: bytes) -> bool:
        if self._run(run_id) is not None:
            return False
        self._runs[run_id] = Run(request=request)
        return True

    async def claim(self, run_id: str, claim: ClaimRequest) -> Claimed | Refused:
        run = self._run(run_id)
        if run is None:
            return Refused(why=Refusal.MISSING)
        refused = self._refuse_claim(run, claim)
        if refused is not None:
            return refused
        if claim.owner != run.owner:
            run.claims += 1
        run.attempt += 1
        run.owner = claim.owner
        run.held = True
        run.order = claim.order
        run.mode = claim.mode
        run.lease_until = self._clock.monotonic_ms() + claim.lease_ms
        if run.state == "open":
            run.state = "running"
        grip = Grip(run_id, run.attempt, claim.owner)
        room = max(0, self._max_log_bytes - self._reserve_bytes - run.size)
        return Claimed(grip=grip, next=run.next, stop=run.stop, room=room, sealed=run.seal)

    def _refuse_claim(self, run: Run, claim: ClaimRequest) -> Refused | None:
        if run.state == "ended":
            return Refused(why=Refusal.ENDED, status=run.status)
        if claim.order.key < run.order.key:
            return Refused(why=Refusal.STALE)
        another = claim.owner != run.owner  # else it is its own claim again, after a lost reply
        if another and (lease := self._lease(run)):
            return Refused(why=Refusal.BUSY, wait_ms=lease)
        return Refused(why=Refusal.EXHAUSTED) if another and run.claims >= claim.max_claims else None

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
        refused = self._misfit(run, append, self._max_log_bytes - self._reserve_bytes)
        if refused is None:
            self._write(grip, run, append)
        return refused or run.appended()

    async def seal(
        self, grip: Grip, append: Append, seal: bytes, *, stop_seen: bool, inputs_seen: int | None = None
    ) -> Sealed | Appended | Refusal:
        run = self._held(grip)
        if isinstance(run, Refusal):
            return run
        if run.seal is None:
            first = Refusal.STOP_FIRST if run.stop and not stop_seen else None
            if first is None and inputs_seen is not None and run.inbox.after(inputs_seen):
                first = Refusal.INPUT_FIRST
            refused = first or self._misfit(run, append, self._max_log_bytes)
            if refused is not None:
                return refused
            self._write(grip, run, append)
            run.state = "sealed"
            run.seal = seal
            run.sealed_by = grip.attempt
            run.claims = 0
        return Sealed(next=run.next, seal=run.seal, ours=run.sealed_by == grip.attempt)

    async def finish(self, grip: Grip, append: Append, status: str, retention_ms: int) -> Appended | Refusal:
        run = self._held(grip)
        if isinstance(run, Refusal):
            return run
        if run.seal is None:
            raise RuntimeError("finish before seal")
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
        run.claims = 0
        await self.release(grip, result, order)
        return None

    async def watch_stop(
        self, run_id: str, callback: Callable[[], None], on_input: Callable[[], None] | None = None
    ) -> None:
        self._watchers[run_id] = (callback, on_input)

    async def unwatch_stop(self, run_id: str) -> None:
        self._watchers.pop(run_id, None)

    async def view(self, run_id: str) -> RunView | None:
        run = self._run(run_id)
        return None if run is None else self._view(run)

    async def read(self, run_id: str, start: int, max_bytes: int) -> Page | None:
        run = self._run(run_id)
        if run is None:
            return None
        entries: list[Entry] = []
        room = max_bytes
        for entry in run.entries[bisect_right(run.entries, start, key=lambda entry: entry.end) :]:
            room -= len(entry.payload)
            if entries and room < 0:
                break
            entries.append(entry)
        return Page(entries=tuple(entries), next=run.next, first=0, ended=run.state == "ended")

    async def subscribe(self, run_id: str, listener: Callable[[Pushed], None]) -> None:
        self._listeners[run_id] = listener

    async def unsubscribe(self, run_id: str) -> None:
        self._listeners.pop(run_id, None)

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Nothing is ever lost between two dictionaries: the callback is not kept."""

    def _run(self, run_id: str) -> Run | None:
        while self._expiries and self._expiries[0][0] <= self._clock.monotonic_ms():
            self._runs.pop(heappop(self._expiries)[1], None)
        return self._runs.get(run_id)

    def _held(self, grip: Grip) -> Run | Refusal:
        run = self._run(grip.run_id)
        if run is None:
            return Refusal.MISSING
        # Released counts as fenced: a renewal sent just before the release must not bring the lease back to life.
        if not run.held or (run.attempt, run.owner) != (grip.attempt, grip.owner):
            return Refusal.FENCED
        return run

    @staticmethod
    def _misfit(run: Run, append: Append, limit: int) -> Appended | Refusal | None:
        if append.start != run.next:
            return run.appended()
        return Refusal.FULL if append.count and run.size + len(append.payload) > limit else None

    def _lease(self, run: Run) -> int:
        return max(0, run.lease_until - self._clock.monotonic_ms())

    def _view(self, run: Run) -> RunView:
        return run.view(self._lease(run))

    def _write(self, grip: Grip, run: Run, append: Append) -> None:
        boundary = (append.start + append.count, grip.attempt)
        if append.delta is not None and not self._repeats(run, append, boundary):
            run.deltas.append(append.delta)
            run.delta_at = boundary
            run.claims = 0
        run.ledger.update(append.ledger)
        if append.count:
            run.next += append.count
            run.size += len(append.payload)
            run.entries.append(Entry(run.next, append.count, append.payload))
            self._push(Pushed(grip.run_id, run.next, append.count, append.payload))

    @staticmethod
    def _repeats(run: Run, append: Append, boundary: tuple[int, int]) -> bool:
        # Without frames the index does not tell a repeat after a lost reply from a new write: the bytes do.
        return append.count == 0 and run.delta_at == boundary and bool(run.deltas) and run.deltas[-1] == append.delta

    def _push(self, pushed: Pushed) -> None:
        if listener := self._listeners.get(pushed.run_id):
            listener(pushed)
