"""What the HTTP room is built from: everything it calls, as one value that app/ fills.

Durations end in the unit they are in.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from limits import RateLimitItem

from api.identity import MayUse, everything
from api.rates import Rates
from api.web_tokens import WebTokens
from assistants.definition import Assistant
from checkpoints.port import RunStore
from frames.hub import Hub
from frames.projection import Sdk
from frames.tokens import Handles, KeyRing, OwnerTags, ResumeTokens, Sessions
from protocol.clock import Clock
from protocol.json import JsonObject
from protocol.turn import Transport, TurnRequest
from records.records import Records


class Dispatch(Protocol):
    """Who executes runs."""

    async def start(self, request: TurnRequest) -> Transport:
        """Have the run executed, and tell how. Decides on what this process knows and waits for nobody.

        Repeating it for a run that runs or has ended is harmless.
        """
        ...

    async def start_memory(self, request: TurnRequest) -> None:
        """Execute the run here, on the memory place. Waits for nobody."""
        ...

    async def nudge(self, run_id: str) -> None:
        """Nobody holds the run and something is to be done (a stop was recorded): see to it now. Waits for nobody."""
        ...

    async def wake(self, run_id: str, *, memory: bool = False) -> None:
        """An input was recorded: have it taken in, on the memory place where it lies there. Waits for nobody."""
        ...

    async def status(self) -> JsonObject:
        """The switch, the breaker, and what runs here."""
        ...

    async def set_switch(self, value: JsonObject) -> JsonObject:
        """Set the switch to `value["switch"]`; the new status. Raises TurnkeepError: `invalid`, `unavailable`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where runs live: a store, and the hub that reads it. A run in a place that is not durable gets no handle."""

    store: RunStore
    hub: Hub
    durable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What the resume secret signs; a deployment without one has none of these."""

    handles: Handles
    resume: ResumeTokens
    owners: OwnerTags
    resume_ms: int = 15 * 60_000

    @classmethod
    def signed_by(cls, ring: KeyRing) -> Self:
        return cls(handles=Handles(ring), resume=ResumeTokens(ring), owners=OwnerTags(ring))


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """What lets somebody in, and from where a browser may ask: `origins` are those of pages besides our own."""

    sessions: bool = True
    keys: bool = True
    web_tokens: WebTokens | None = None
    origins: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Bounds on asking: requests of an address, new turns of an owner, and turns of an owner under way (0: any number)."""

    address: RateLimitItem | None = None
    owner: RateLimitItem | None = None
    active: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of HTTP. `readers` counts the open streams of this process; one more is told to come back (503)."""

    message_characters: int = 4_000
    body_bytes: int = 1024 * 1024
    body_depth: int = 32
    prestream_ms: int = 10_000  # everything before the first byte
    json_ms: int = 120_000  # how long `?stream=0` waits for the end
    heartbeat_ms: int = 15_000
    probe_ms: int = 1_000
    interrupt_ms: int = 5_000  # how long a run that is stopped for another one, or deleted, may take to end
    log_kept_ms: int = 86_400_000  # after a run's end
    file_bytes: int = 5_000_000
    files_bytes: int = 200_000_000  # of one owner
    readers: int = 10_000


class Meter(Protocol):
    """What is counted. `route` is a word of ours, never a path: paths hold ids. Must not block or raise."""

    def answered(self, route: str, status: int, elapsed_ms: int) -> None:
        """A response began; `elapsed_ms` is the time to its first byte."""
        ...

    def readers(self, open_streams: int) -> None:
        """This many streams are open now."""
        ...


class Uncounted:
    """A meter for which nothing is worth a number."""

    def answered(self, route: str, status: int, elapsed_ms: int) -> None:
        pass

    def readers(self, open_streams: int) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One part that `/readyz` asks. Only a `required` one that fails takes the process out of service."""

    check: Callable[[], Awaitable[bool]]
    required: bool = True


async def no_smoke(_: Transport) -> JsonObject:
    """A deployment without a scripted model has nothing to run."""
    return {"ok": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """What operators see and do. Without `token` nothing of /internal exists."""

    token: str | None = None
    settings: JsonObject = field(default_factory=dict)  # effective, secrets redacted
    probes: Mapping[str, Probe] = field(default_factory=dict)
    metrics: Callable[[], bytes] = bytes  # Prometheus text
    smoke: Callable[[Transport], Awaitable[JsonObject]] = no_smoke
    budget_micro_usd: int = 0  # of a day, as it is told
    meter: Meter = field(default_factory=Uncounted)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiParts:
    """Everything the application calls."""

    records: Records
    primary: Place
    memory: Place
    dispatch: Dispatch
    sessions: Sessions
    tokens: Tokens | None  # None: no secret, so no handle and no resume; stop by run id and session
    assistants: Mapping[str, Assistant]
    default_assistant: str
    clock: Clock
    new_id: Callable[[], str]  # a fresh lower-case UUID
    random_bytes: Callable[[int], bytes]
    model_of: Callable[[Assistant], str]  # who will answer; raises TurnkeepError: `not_configured`
    pages: Path | None = None  # the chat page's files
    tenant: str = ""  # of sessions, and of tokens that name none
    admitted: Admitted = Admitted()
    may_use: MayUse = everything
    quota: Quota = Quota()
    rates: Rates = field(default_factory=Rates)
    default_sdk: Sdk = 7
    limits: Limits = Limits()
    operations: Operations = field(default_factory=Operations)
