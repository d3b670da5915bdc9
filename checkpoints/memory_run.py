"""What the store in this process holds of one run, and what it waits for."""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Self

from checkpoints.budget import MAX_INPUT_BYTES, MAX_INPUTS, Budget
from checkpoints.port import Append, Appended, Claimed, ClaimRequest, Grip, Order, Refusal, Remains, RunView
from checkpoints.waiting import Parking
from protocol.log import Entry, Page

_NEVER = Order(0, 0, 0)


@dataclass(slots=True)
class Inbox:
    """One run's inputs by id, in the order they came, and how it is parked."""

    inputs: dict[str, bytes] = field(default_factory=dict)
    first: int = 0  # how many there were before these: taken in, and lost with the store
    parking: Parking | None = None
    parked_by: int = 0  # the attempt; a later claim's is higher

    @property
    def count(self) -> int:
        """How many inputs the run was given."""
        return self.first + len(self.inputs)

    def put(self, item_id: str, item: bytes, *, closed: bool) -> Refusal | None:
        """Keep it; None where it is kept, by this call or an earlier one."""
        if item_id in self.inputs:
            return None
        if closed:
            return Refusal.CLOSED
        held = sum(map(len, self.inputs.values()))
        if self.count >= MAX_INPUTS or held + len(item) > MAX_INPUT_BYTES:
            return Refusal.FULL
        self.inputs[item_id] = item
        return None

    def after(self, taken: int) -> tuple[bytes, ...]:
        """The inputs after the first ones."""
        return tuple(self.inputs.values())[max(0, taken - self.first) :]

    def park(self, parking: Parking, attempt: int) -> None:
        self.parking, self.parked_by = parking, attempt

    def parked(self, attempt: int) -> Parking | None:
        """How the run is parked, if nobody claimed it since."""
        return self.parking if self.parked_by == attempt else None

    def put_back(self, remains: Remains) -> Self:
        """Add what the executor knows and this inbox lacks."""
        if not self.inputs:
            self.first = max(self.first, remains.taken)
        for position, (item_id, item) in enumerate(remains.inputs.items(), remains.taken):
            if position >= self.count:
                self.inputs[item_id] = item
        return self


@dataclass(slots=True, kw_only=True)
class MemoryRun:
    """A run's state; `checkpoints/memory.py` keeps its laws."""

    request: bytes
    state: str = "open"
    mode: str = ""
    status: str = ""
    attempt: int = 0
    owner: str = ""
    held: bool = False  # claimed and not released
    lease_until: int = 0
    order: Order = _NEVER
    deaths: int = 0
    stop: bool = False
    next: int = 0
    size: int = 0
    entries: list[Entry] = field(default_factory=list)
    deltas: list[bytes] = field(default_factory=list)
    delta_at: tuple[int, int] = (0, 0)  # index and attempt of the newest delta
    ledger: dict[str, bytes] = field(default_factory=dict)
    committed: dict[tuple[int, int], bytes] = field(default_factory=dict)
    seal: bytes | None = None
    sealed_by: int = 0
    reserved: int = 0
    server: str = ""  # which made the reservation
    inbox: Inbox = field(default_factory=Inbox)

    def died_of(self, claim: ClaimRequest) -> int:
        """How many executors died without a step forward, once this claim has found the last of them."""
        return self.deaths + (self.held and claim.owner != self.owner)

    def appended(self) -> Appended:
        return Appended(self.next, self.stop)

    def misfit(self, append: Append, limit: int) -> Appended | Refusal | None:
        """Why this cannot be appended to a log of so many bytes."""
        if append.start != self.next:
            return self.appended()
        return Refusal.FULL if append.count and self.size + len(append.payload) > limit else None

    def repeats(self, append: Append, boundary: tuple[int, int]) -> bool:
        """Whether its delta is here. Without frames the index does not tell that after a lost reply: the bytes do."""
        return append.count == 0 and self.delta_at == boundary and bool(self.deltas) and self.deltas[-1] == append.delta

    def page(self, start: int, max_bytes: int) -> Page:
        """The frames from an index on."""
        entries: list[Entry] = []
        room = max_bytes
        for entry in self.entries[bisect_right(self.entries, start, key=lambda entry: entry.end) :]:
            room -= len(entry.payload)
            if entries and room < 0:
                break
            entries.append(entry)
        first = self.entries[0].end - self.entries[0].count if self.entries else self.next
        return Page(entries=tuple(entries), next=self.next, first=first, ended=self.state == "ended")

    def claimed(self, run_id: str, budget: Budget, *, went_back: bool) -> Claimed:
        """What its executor is told."""
        return Claimed(
            grip=Grip(run_id, self.attempt, self.owner),
            next=self.next,
            stop=self.stop,
            room=budget.room(self.size),
            sealed=self.seal,
            reserved=self.reserved,
            went_back=went_back,
        )

    @property
    def parked(self) -> Parking | None:
        """How it is parked, if it is."""
        return self.inbox.parked(self.attempt) if self.state == "running" else None

    def view(self, lease_ms: int) -> RunView:
        parking = self.parked
        return RunView(
            state="parked" if parking else self.state,
            mode=self.mode,
            status=self.status,
            attempt=self.attempt,
            next=self.next,
            stop=self.stop,
            lease_ms=lease_ms,
            deaths=self.deaths,
            order=self.order,
            until_ms=parking.until_ms if parking else 0,
            waiting=parking.waiting if parking else (),
            unread=len(self.inbox.after(parking.taken)) if parking else 0,
        )


def put_back(
    grip: Grip, claim: ClaimRequest, remains: Remains, before: MemoryRun | None, lease_until: int
) -> MemoryRun:
    """The run as its executor knows it. `before` is what the store still had of it."""
    attempt = max(grip.attempt, before.attempt if before else 0) + 1
    return MemoryRun(
        request=remains.request,
        state="running",
        mode=claim.mode,
        attempt=attempt,
        owner=grip.owner,
        held=True,
        lease_until=lease_until,
        order=claim.order,
        stop=remains.stop or (before is not None and before.stop),
        next=remains.next,
        size=sum(len(entry.payload) for entry in remains.entries),
        entries=list(remains.entries),
        deltas=[] if remains.base is None else [remains.base],
        delta_at=(remains.index, attempt),
        ledger=dict(remains.ledger),
        inbox=(before.inbox if before else Inbox()).put_back(remains),
    )
