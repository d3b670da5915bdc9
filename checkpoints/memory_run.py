"""What the store in this process holds of one run."""

from dataclasses import dataclass, field

from checkpoints.port import Appended, ClaimRequest, Grip, Order, Remains
from protocol.log import Entry

_NEVER = Order(0, 0, 0)


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
    claims: int = 0
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

    def appended(self) -> Appended:
        return Appended(self.next, self.stop)


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
    )
