"""One run as the memory store keeps it: plain fields, and what it waits for."""

from dataclasses import dataclass, field

from checkpoints.budget import MAX_INPUT_BYTES, MAX_INPUTS
from checkpoints.port import Appended, Order, Parking, Refusal, RunView
from protocol.log import Entry

_NEVER = Order(0, 0, 0)


@dataclass(slots=True)
class Inbox:
    """One run's inputs by id, in the order they came, and how it is parked."""

    inputs: dict[str, bytes] = field(default_factory=dict)
    parking: Parking | None = None
    parked_by: int = 0  # the attempt; a later claim's is higher

    def put(self, item_id: str, item: bytes, *, closed: bool) -> Refusal | None:
        """Keep it; None where it is kept, by this call or an earlier one."""
        if item_id in self.inputs:
            return None
        if closed:
            return Refusal.CLOSED
        held = sum(map(len, self.inputs.values()))
        if len(self.inputs) >= MAX_INPUTS or held + len(item) > MAX_INPUT_BYTES:
            return Refusal.FULL
        self.inputs[item_id] = item
        return None

    def after(self, taken: int) -> tuple[bytes, ...]:
        """The inputs after the first ones."""
        return tuple(self.inputs.values())[taken:]

    def park(self, parking: Parking, attempt: int) -> None:
        self.parking, self.parked_by = parking, attempt

    def parked(self, attempt: int) -> Parking | None:
        """How the run is parked, if nobody claimed it since."""
        return self.parking if self.parked_by == attempt else None


@dataclass(slots=True, kw_only=True)
class Run:
    """Everything about one run."""

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
    inbox: Inbox = field(default_factory=Inbox)

    def appended(self) -> Appended:
        return Appended(self.next, self.stop)

    def view(self, lease_ms: int) -> RunView:
        parking = self.inbox.parked(self.attempt) if self.state == "running" else None
        return RunView(
            state="parked" if parking else self.state,
            mode=self.mode,
            status=self.status,
            attempt=self.attempt,
            next=self.next,
            stop=self.stop,
            lease_ms=lease_ms,
            claims=self.claims,
            order=self.order,
            until_ms=parking.until_ms if parking else 0,
            waiting=parking.waiting if parking else (),
            unread=len(self.inbox.after(parking.taken)) if parking else 0,
        )
