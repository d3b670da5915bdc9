"""Where the hub gets frames from: ranges of a log, and a push for every append.

Laws
 F1  After `subscribe` returned, every later append of the run is delivered to the listener, or `lost` is called.
 F2  A message carries its index: a receiver can tell a repeat, a gap and the end without asking.
 F3  Listeners are called in the loop, do not block and do not raise.
"""

from collections.abc import Callable
from typing import Protocol

from protocol.log import Page, Pushed

Listener = Callable[[Pushed], None]


class FrameSource(Protocol):
    """Readers' side of a run store."""

    async def subscribe(self, run_id: str, listener: Listener) -> None: ...

    async def unsubscribe(self, run_id: str) -> None:
        """Deliver no more of this run. Never raises."""
        ...

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Register what to do when pushes may have been missed (a reconnect): fill every run from the log."""
        ...

    async def read(self, run_id: str, start: int, max_bytes: int) -> Page | None: ...
