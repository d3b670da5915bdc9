"""A store in this process that loses things at a given write, and a reader that was there all the time."""

import asyncio
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from checkpoints.memory import MemoryRunStore
from checkpoints.memory_run import MemoryRun
from checkpoints.port import Append, Claimed, ClaimRequest, Grip, Refused
from engine.fold import fold
from frames import sse
from frames.ring import Ring
from protocol.checkpoint import Message
from protocol.errors import StoreUnavailable
from protocol.log import Pushed
from tests.rig import RUN_ID, StillClock


@dataclass
class Forgetful(MemoryRunStore):
    """Before write number `at`, `lose` is called, once. `history` is what it held before each write since the claim.

    `silent` is how many writes from there on are not answered; with `written` they happen all the same.
    """

    clock: StillClock
    at: int = 10_000
    lose: Callable[["Forgetful"], None] = lambda _: None
    silent: int = 0
    written: bool = False
    writes: int = 0
    history: list[MemoryRun] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(self.clock)

    def flush(self) -> None:
        """Everything is gone."""
        self._runs.clear()

    def go_back(self, writes: int) -> None:
        """The last writes are gone, as after a power cut, but never a claim."""
        kept = max(0, len(self.history) - 1 - writes)
        self._runs[RUN_ID] = deepcopy(self.history[kept])
        del self.history[kept:]

    async def claim(self, run_id: str, claim: ClaimRequest) -> Claimed | Refused:
        reply = await super().claim(run_id, claim)
        self.history = []
        return reply

    async def append(self, grip: Grip, append: Append) -> Any:
        return await self._one(lambda: MemoryRunStore.append(self, grip, append))

    async def seal(
        self, grip: Grip, append: Append, seal: bytes, *, stop_seen: bool, inputs_seen: int | None = None
    ) -> Any:
        return await self._one(
            lambda: MemoryRunStore.seal(self, grip, append, seal, stop_seen=stop_seen, inputs_seen=inputs_seen)
        )

    async def finish(self, grip: Grip, append: Append, status: str, retention_ms: int) -> Any:
        return await self._one(lambda: MemoryRunStore.finish(self, grip, append, status, retention_ms))

    async def _one(self, write: Callable[[], Awaitable[Any]]) -> Any:
        number, self.writes = self.writes, self.writes + 1
        if RUN_ID in self._runs:
            self.history.append(deepcopy(self._runs[RUN_ID]))
        if number == self.at:
            self.lose(self)
        if number >= self.at and self.silent:
            self.silent -= 1
            if self.written:
                await write()
            raise StoreUnavailable
        return await write()


class Reader:
    """Takes every push, or what a viewer hands out: drops what it has, refuses a gap, and folds the rest."""

    def __init__(self) -> None:
        self.message = Message(id="")
        self.kinds: list[str] = []
        self.came = asyncio.Event()
        self._ring = Ring(0)

    def take(self, pushed: Pushed) -> None:
        had = self._ring.end
        assert self._ring.add(pushed.end, pushed.count, pushed.payload), "a gap"
        if pushed.end > had:
            self.read(self._ring.since(had))

    def read(self, chunk: bytes) -> None:
        for piece in sse.split(chunk):
            index, frame = sse.decode(piece)
            assert index == len(self.kinds)
            self.kinds.append(frame["type"])
            self.message = fold(self.message, frame)
        self.came.set()
