"""The durable state of a run: its log, claim, checkpoint, ledger, seal and stop flag, as one port with numbered laws.

One room holds them because one write must carry them together: frames, checkpoint delta and ledger transition of a boundary
become visible at once or not at all (C2). `tests/contract/test_run_store*.py` runs every law over every implementation.

A run is `open` → `running` ⇄ `parked` → `sealed` → `ended`. Positions are frame indices, dense from 0. Times are milliseconds.

Laws
 S1  `open` creates a run once; a second `open` changes nothing and says so. Nothing but it and `restore` creates keys: on a
     run that was never opened (or was erased) every other call answers MISSING, and writes nothing (C5).
 S2  `claim` on a live lease of another owner is BUSY and tells the remaining lease; after the lease lapsed or was released
     the next claim wins. Every won claim has a higher attempt than all before it. The same owner may claim again and wins.
 S3  A claim whose order is lower than the highest order ever won is STALE, whatever the lease (C4).
 S4  Only the grip of the newest attempt writes. Every write with an older one answers FENCED and changes nothing.
 S5  `append` at the expected index writes frames, delta, ledger and the running mode's counters together and returns the next index. At any other
     index it writes nothing and returns the index it expects: repeating an append whose reply was lost is harmless.
 S6  `append` with `count` 0 carries a delta or ledger entries alone; the same delta again at the same index is a repeat.
 S7  Deltas come back from `load` in the order written, byte for byte; ledger entries come back with their newest value.
 S8  A claim that finds its predecessor's lease lapsed and not released counts its death, from the last checkpoint delta or
     seal on; a repeat by the same owner does not. At `max_deaths` the claim is EXHAUSTED.
 S9  The log refuses frames past the byte budget with FULL; `seal` and `finish` may use the reserve (C13).
 S10 `stop` is recorded once and shown by every later reply to the executor. After the seal it answers how the run ended.
 S11 `seal` succeeds once: the seal stays as written and is returned to everyone who comes later. With a stop recorded that
     the sealer has not seen (`stop_seen` false) it answers STOP_FIRST and seals nothing (C3); at another index it seals
     nothing and answers Appended with the index it expects.
 S12 After the seal `append` answers CLOSED; `finish` appends the tail, marks the run ended, and is the last write. A second
     `finish` changes nothing. Retention counts from it; before it no key of the run expires (C7). Before the seal it answers
     UNSEALED and writes nothing: the store went back to before it.
 S13 `release` gives up the lease and, in the same write, stores the slice's result under (generation, slice); `committed`
     returns it (C17). The released grip writes no more; releasing again is harmless.
 S14 `read` from any index returns exactly the frames from there on, at any packing, bounded in bytes, at least one entry.
 S15 `renew` extends the lease of the newest attempt only, and shows the stop flag.
 S16 After `watch_stop` returned, a later `stop` calls the callback, or the next reply to the executor shows it.
 S17 Claims, restores, seals, stops, inputs and appends with `reserve` are durable: on disk, and on a replica where so
     configured, before they are answered, as far as the server can tell. A seal or an append that is not confirmed answers
     `durable` false, any other write raises.
 S18 A claim on a server that is not the one of the newest reservation (restarted, failed over) says `went_back`, and repeats
     the index reserved there, until an append with `reserve` was taken (C9). Not where it finds the run parked: whatever was
     written before that note stands with it, and nobody went on since, for a claim is durable.
 S19 `restore` puts a run back as its executor knows it, with a higher attempt: one that is missing, or one whose newest owner
     is the caller. Else it answers FENCED, after the seal CLOSED, and writes nothing. Readers before its first entry find
     that the log begins there; a stop once recorded stays recorded (C5). Inputs that the executor has read are put back, and
     the next one has the position it expects; one that it has not read, and that the store lost, is gone.
 S20 `put_input` keeps an input once: the same id again changes nothing and answers as the first time. They are bounded (FULL)
     and refused after the seal (CLOSED). `inputs` gives them in order, from any position: the checkpoint counts (C12).
 S21 `park` gives up the lease and stores the slice's result, in one write, only where nothing lies in the inbox that was not
     taken in and no stop is recorded; else it answers what lies there and changes nothing. A parked run has no lease, and is
     parked no more from the next claim on. Parking counts as progress (S8).
 S22 A sealer that says how many inputs it has seen is answered INPUT_FIRST, and nothing is sealed, where more lie there.
 S23 `ledger` and `sealed` show what was written, to anyone and without a grip; nothing for a run that is missing.
 S24 `erase` takes everything that the store has of a run, whoever holds it, durably: it is missing from then on (S1).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from checkpoints.waiting import Parking, Unread
from protocol.log import Entry, Page
from protocol.turn import Transport


class Refusal(Enum):
    """Why a write was refused. Nothing was written."""

    MISSING = "missing"
    FENCED = "fenced"
    CLOSED = "closed"
    FULL = "full"
    BUSY = "busy"
    STALE = "stale"
    EXHAUSTED = "exhausted"
    ENDED = "ended"
    STOP_FIRST = "stop_first"
    UNSEALED = "unsealed"
    INPUT_FIRST = "input_first"


@dataclass(frozen=True, slots=True)
class Order:
    """Who may take over from whom (C4): compared as a tuple, higher is newer. Inline executors use slice 0."""

    generation: int
    slice: int
    attempt: int

    @property
    def key(self) -> tuple[int, int, int]:
        return (self.generation, self.slice, self.attempt)


@dataclass(frozen=True, slots=True)
class Grip:
    """The right to write: valid while no higher attempt claimed."""

    run_id: str
    attempt: int
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """`owner` is a fresh token per executor. `lease_ms` is how long the claim holds without renewal."""

    order: Order
    owner: str
    mode: Transport
    lease_ms: int = 2_000
    max_deaths: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A won claim. `next` is the index the log expects; `stop` that a stop is recorded; `sealed` the seal where one exists.

    `room` is how many bytes of frames the log still takes from `append`: an executor ends the turn in good order before
    the log refuses it (S9). Frames up to `reserved` may be appended; beyond it an append with `reserve` comes first. With
    `went_back` readers may have seen frames from `next` up to there that this store does not know (S18).
    """

    grip: Grip
    next: int
    stop: bool
    room: int
    sealed: bytes | None = None
    reserved: int = 0
    went_back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A claim that was not won. `wait_ms` is the other's remaining lease where BUSY; `status` the ended run's status."""

    why: Refusal
    wait_ms: int = 0
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What an executor goes on from."""

    request: bytes
    deltas: tuple[bytes, ...]
    index: int  # of the newest delta's boundary, 0 with no delta
    ledger: dict[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """One write. `payload` holds `count` finished frames, the first with index `start`.

    `ledger` maps "<step>.<ordinal>" to its newest entry. `reserve` other than 0 makes the write durable (S17) and reserves
    the indices before it: whatever becomes of the store, no reader has seen one beyond (C9).
    """

    start: int
    count: int = 0
    payload: bytes = b""
    delta: bytes | None = None
    ledger: dict[str, bytes] = field(default_factory=dict)
    reserve: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What an executor knows of its run. `base` is the newest checkpoint, whole; `index` the position of its boundary.

    `entries` are the log's last ones, without a gap up to `next`; `ledger` holds what was written since the boundary. `taken` is
    how many inputs the checkpoint has taken in, `inputs` those that were read since, by id and in the order they came.
    """

    request: bytes
    base: bytes | None
    index: int
    ledger: dict[str, bytes]
    entries: tuple[Entry, ...]
    next: int
    stop: bool = False
    taken: int = 0
    inputs: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Appended:
    """`next` is the index the log expects now: start + count, or another where the caller and the log differ.

    `durable` false: a write that asked for it was made, and the disk did not confirm it in time.
    """

    next: int
    stop: bool
    durable: bool = True


@dataclass(frozen=True, slots=True)
class Sealed:
    """The seal that stands, ours or an earlier one, and the index the log expects."""

    next: int
    seal: bytes
    ours: bool
    durable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """What there is to know about a run without its content."""

    state: str  # open | running | parked | sealed | ended
    mode: str  # workflow | inline | "" before the first claim
    status: str  # the final RunStatus, "" before
    attempt: int
    next: int
    stop: bool
    lease_ms: int  # what is left of the lease, 0 without one
    deaths: int  # that claims found since the last checkpoint delta
    order: Order  # the highest that won a claim, (0, 0, 0) before; an adopter takes the next generation
    until_ms: int = 0  # while parked: the wall clock's time at which waiting ends
    waiting: tuple[str, ...] = ()  # while parked: the tool calls that somebody has to decide or answer
    unread: int = 0  # while parked: inputs that came since

    def due(self, now_ms: int) -> bool:
        """Whether it is parked and there is something to do: a stop, an input, or the end of waiting."""
        return self.state == "parked" and (self.stop or self.unread > 0 or now_ms >= self.until_ms)


class RunStore(Protocol):
    """The port. Every method may raise `StoreUnavailable`: then nothing is known about the write."""

    async def open(self, run_id: str, request: bytes) -> bool:
        """Create the run with its request. True where this call created it. Raises soon: somebody waits who can do without."""
        ...

    async def claim(self, run_id: str, claim: ClaimRequest) -> Claimed | Refused: ...

    async def restore(self, grip: Grip, claim: ClaimRequest, remains: Remains) -> Claimed | Refusal:
        """Put a lost run back; its caller has asked the records whether it still lives (S19, C5)."""
        ...

    async def load(self, grip: Grip) -> Loaded | Refusal: ...

    async def renew(self, grip: Grip, lease_ms: int) -> Appended | Refusal: ...

    async def append(self, grip: Grip, append: Append) -> Appended | Refusal: ...

    async def seal(
        self, grip: Grip, append: Append, seal: bytes, *, stop_seen: bool, inputs_seen: int | None = None
    ) -> Sealed | Appended | Refusal:
        """`inputs_seen` None: what lies in the inbox does not matter to this end."""
        ...

    async def finish(self, grip: Grip, append: Append, status: str, retention_ms: int) -> Appended | Refusal: ...

    async def release(self, grip: Grip, committed: bytes | None, order: Order) -> bool:
        """Give up the lease. False where the grip was not the newest any more."""
        ...

    async def committed(self, run_id: str, generation: int, slice_number: int) -> bytes | None: ...

    async def stop(self, run_id: str) -> RunView | None:
        """Record a stop (idempotent) and wake the executor. None where the run is missing."""
        ...

    async def put_input(self, run_id: str, item_id: str, item: bytes) -> RunView | Refusal:
        """Put an input into the inbox and wake the executor. The view tells whether there is one."""
        ...

    async def inputs(self, grip: Grip, taken: int) -> tuple[bytes, ...] | Refusal:
        """What lies in the inbox after the first `taken` inputs."""
        ...

    async def park(self, grip: Grip, parking: Parking, result: bytes, order: Order) -> Unread | Refusal | None:
        """Give up the lease until somebody answers. None: parked, and `result` stored as `release` does."""
        ...

    async def watch_stop(
        self, run_id: str, callback: Callable[[], None], on_input: Callable[[], None] | None = None
    ) -> None:
        """Call back in the loop when a stop is recorded, and when an input was put.

        One watcher a run, the newest; callbacks must not raise.
        """
        ...

    async def unwatch_stop(self, run_id: str) -> None: ...

    async def erase(self, run_id: str) -> None: ...
    async def view(self, run_id: str) -> RunView | None: ...

    async def read(self, run_id: str, start: int, max_bytes: int) -> Page | None: ...

    async def ledger(self, run_id: str) -> dict[str, bytes]:
        """The newest entry of every tool call, by "<step>.<ordinal>"."""
        ...

    async def sealed(self, run_id: str) -> bytes | None:
        """The seal, None while there is none."""
        ...
