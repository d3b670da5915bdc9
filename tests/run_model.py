"""A run as simply as it can be said, to hold the stores against: no bytes, no servers, no time but a live or a lapsed lease.

It is written from the laws alone and shares nothing with the stores but the values of the port.
"""

from dataclasses import dataclass, field

from checkpoints.port import Appended, Claimed, ClaimRequest, Grip, Loaded, Refusal, Refused, Sealed

ROOM = 33_488_896  # 32 MB without the 64 KB of reserve
AHEAD = 512


@dataclass
class RunModel:
    run_id: str
    frames: list[bytes] = field(default_factory=list)
    deltas: list[tuple[int, int, bytes]] = field(default_factory=list)  # index, attempt, delta
    ledger: dict[str, bytes] = field(default_factory=dict)
    attempt: int = 0
    owner: str = ""
    holds: bool = False  # not released
    lease: bool = False  # live
    order: tuple[int, int, int] = (0, 0, 0)
    deaths: int = 0
    stop: bool = False
    seal: tuple[int, bytes] | None = None
    status: str = ""
    reserved: int = 0

    @property
    def here(self) -> Appended:
        return Appended(len(self.frames), self.stop)

    def claim(self, request: ClaimRequest) -> Claimed | Refusal:
        why = self._no_claim(request)
        if why is not None:
            return why
        self.deaths += self.holds and request.owner != self.owner
        self.attempt += 1
        self.owner, self.order, self.holds = request.owner, request.order.key, True
        self.lease = request.lease_ms > 0
        room = ROOM - sum(map(len, self.frames))
        seal = self.seal[1] if self.seal else None
        self.reserved = max(self.reserved, len(self.frames) + AHEAD)
        grip = Grip(self.run_id, self.attempt, self.owner)
        return Claimed(grip=grip, next=len(self.frames), stop=self.stop, room=room, sealed=seal, reserved=self.reserved)

    def _no_claim(self, request: ClaimRequest) -> Refusal | None:
        another = request.owner != self.owner
        reasons = [
            (bool(self.status), Refusal.ENDED),
            (request.order.key < self.order, Refusal.STALE),
            (another and self.lease, Refusal.BUSY),
            (another and self.deaths + self.holds >= request.max_deaths, Refusal.EXHAUSTED),
        ]
        return next((why for applies, why in reasons if applies), None)

    def fenced(self, grip: Grip) -> Refusal | None:
        return None if self.holds and (grip.attempt, grip.owner) == (self.attempt, self.owner) else Refusal.FENCED

    def renew(self, grip: Grip, *, live: bool) -> Appended | Refusal:
        if why := self.fenced(grip) or (Refusal.CLOSED if self.status else None):
            return why
        self.lease = live
        return self.here

    def append(
        self, grip: Grip, start: int, texts: list[bytes], delta: bytes | None, entry: bytes
    ) -> Appended | Refusal:
        if why := self.fenced(grip) or (Refusal.CLOSED if self.seal else None):
            return why
        if start == len(self.frames):
            self.write(texts, delta, entry)
        return self.here

    def write(self, texts: list[bytes], delta: bytes | None, entry: bytes) -> None:
        self.frames += texts
        boundary = (len(self.frames), self.attempt)
        if delta is not None and (texts or self.deltas[-1:] != [(*boundary, delta)]):
            self.deltas.append((*boundary, delta))
            self.deaths = 0
        if entry:
            self.ledger["1.0"] = entry

    def sealed(
        self, grip: Grip, start: int, texts: list[bytes], seal: bytes, *, seen: bool
    ) -> Sealed | Appended | Refusal:
        if why := self.fenced(grip):
            return why
        if self.seal is None:
            if self.stop and not seen:
                return Refusal.STOP_FIRST
            if start != len(self.frames):
                return self.here
            self.write(texts, None, b"")
            self.seal, self.deaths = (self.attempt, seal), 0
        return Sealed(len(self.frames), self.seal[1], ours=self.seal[0] == self.attempt)

    def finish(self, grip: Grip, start: int, texts: list[bytes], status: str) -> Appended | Refusal:
        if why := self.fenced(grip):
            return why
        if self.seal is None:
            return Refusal.UNSEALED
        if not self.status and start == len(self.frames):
            self.write(texts, None, b"")
            self.status, self.lease = status, False
        return self.here

    def release(self, grip: Grip) -> bool:
        if (grip.attempt, grip.owner) != (self.attempt, self.owner):
            return False
        self.holds = self.lease = False
        return True

    def load(self, grip: Grip) -> Loaded | Refusal:
        if why := self.fenced(grip):
            return why
        index = self.deltas[-1][0] if self.deltas else 0
        deltas = tuple(delta for _, _, delta in self.deltas)
        return Loaded(request=b"request", deltas=deltas, index=index, ledger=self.ledger)


def outcome(reply: Claimed | Refused) -> Claimed | Refusal:
    """A store's claim without the figures that depend on time."""
    return reply.why if isinstance(reply, Refused) else reply
