"""What a runner is built from."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from assistants.definition import Assistant
from checkpoints.outbox import MemoryOutbox, Outbox
from checkpoints.port import RunStore
from protocol.clock import Clock
from protocol.json import JsonObject
from protocol.model import ModelRequest
from protocol.turn import TurnRequest
from providers.port import Provider
from providers.prices import Price
from records.records import Records
from runner.observe import Observer, Silent, TurnObserver


def always_able(_: Sequence[JsonObject]) -> bool:
    """A model that answers to anything."""
    return True


@dataclass(frozen=True, slots=True)
class Chosen:
    """The provider a turn's model calls go to, and the model's id there; `fallbacks` are asked in order where it fails.

    `able` says whether it can answer to these messages at all; it is asked only of fallbacks.
    """

    provider: Provider
    model: str
    fallbacks: "tuple[Chosen, ...]" = ()
    able: Callable[[Sequence[JsonObject]], bool] = always_able


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
    """Bounds of one invocation, in milliseconds and bytes."""

    lease_ms: int = 2_000  # a dead executor is noticed after this at the latest
    renew_ms: int = 500  # a quarter of the lease: three renewals may be lost
    max_deaths: int = 5
    retention_ms: int = 86_400_000
    max_checkpoint_bytes: int = 700_000
    abandon_ms: int = 4_000  # how long a draining slice waits for its step; the rest of the grace is for the hand-over
    store_patience_ms: int = 60_000  # how long a paid answer is held while the store is away
    records_patience_ms: int = 15_000  # how long `finish` waits for the records
    ledger_ms: int = 1_000  # how long a model call waits for its reservation, and the end of a turn for its last charge
    budget_micro_usd: int = 1_000_000_000  # of a day, in millionths of a US dollar, for all processes together
    collect_ms: int = 5_000  # how long a turn's observers may take with its end


def no_price(_: ModelRequest) -> Price | None:
    """Nothing costs anything."""
    return None


async def no_fault(_: str) -> None:
    """Production: nothing happens at a named point."""


async def always_there() -> bool:
    """Without slices there is nobody to hand over to, and nobody to ask."""
    return True


def certain() -> float:
    """No chance at all: every wait is as long as it may be."""
    return 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts.

    `choose` may raise TurnkeepError, `price` a ProviderError where nobody knows what the call costs. `fault` is awaited at
    named points; tests wait, fail or die there. `chance` gives numbers from 0 to 1 that spread what many turns would do at
    once; `pause` waits so many seconds before a model is asked again. `reachable` says, within a bound of its own, whether
    somebody is there to start the next slice (C10).
    """

    store: RunStore
    records: Records
    assistants: Mapping[str, Assistant]
    choose: Callable[[Assistant, TurnRequest], Chosen]
    price: Callable[[ModelRequest], Price | None] = no_price
    clock: Clock
    new_owner: Callable[[], str]
    observer: Observer = field(default_factory=Silent)
    fault: Callable[[str], Awaitable[None]] = no_fault
    reachable: Callable[[], Awaitable[bool]] = always_there
    outbox: Outbox = field(default_factory=MemoryOutbox)
    turn_observers: Mapping[str, TurnObserver] = field(default_factory=dict)
    chance: Callable[[], float] = certain
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    settings: RunnerSettings = RunnerSettings()
