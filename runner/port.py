"""What the rooms above ask of the runner."""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from checkpoints.port import Order
from protocol.errors import ErrorKind
from protocol.turn import SliceResult, Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Run this run from where it stands. `slice_ms` None never hands over by itself."""

    run_id: str
    order: Order
    mode: Transport
    slice_ms: int | None = None


class TurnRunner(Protocol):
    """The one door: a fresh run, a resumed one, one that only has to be settled, one that has ended."""

    async def run(self, job: Job, drain: asyncio.Event) -> SliceResult:
        """Drive the run until it ends or hands over. `drain` asks for a hand-over at the next boundary.

        "missing": nothing is left of it that it could go on from. An executor elsewhere may still put it back; where none does,
        the sweeper ends it as interrupted (C5). Raises StoreUnavailable where the claim could not be made. Never raises for a
        turn that failed: that is a status.
        """
        ...

    async def fail(self, run_id: str, order: Order, kind: ErrorKind) -> SliceResult:
        """Settle a run that nobody can go on with; claims in vain do not count against it (C16).

        The result is "ended", or as of `run` where another executor owns the run. Raises StoreUnavailable.
        """
        ...
