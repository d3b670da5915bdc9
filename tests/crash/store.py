"""The run store with a point before and after every write."""

from pathlib import Path

from app.compose import Core
from checkpoints.port import Append, Appended, Grip, Order, Refusal, Sealed
from checkpoints.redis import RedisRunStore
from tests.crash.points import Points


class PointedStore(RedisRunStore):
    """What the processes under test use in place of their store: it does the same, and stops where the plan says."""

    def __init__(self, core: Core, points: Points, folder: Path) -> None:
        super().__init__(core.client, core.push, keys=core.keys)
        self._points = points
        # What a seeded bug reaches for.
        self._folder, self._clock, self._records = folder, core.clock, core.records

    async def open(self, run_id: str, request: bytes) -> bool:
        await self._points.passes(run_id, "open.before")
        created = await super().open(run_id, request)
        await self._points.passes(run_id, "open.after")
        return created

    async def append(self, grip: Grip, append: Append) -> Appended | Refusal:
        # A write without frames carries the ledger alone.
        name, frames = (
            ("append", range(append.start, append.start + append.count)) if append.count else ("ledger", None)
        )
        await self._points.passes(grip.run_id, f"{name}.before", frames)
        reply = await super().append(grip, append)
        await self._points.passes(grip.run_id, f"{name}.after", frames)
        return reply

    async def seal(
        self, grip: Grip, append: Append, seal: bytes, *, stop_seen: bool, inputs_seen: int | None = None
    ) -> Sealed | Appended | Refusal:
        await self._points.passes(grip.run_id, "seal.before")
        return await super().seal(
            grip, append, seal, stop_seen=stop_seen, inputs_seen=inputs_seen
        )  # after it: the runner's own "sealed"

    async def finish(self, grip: Grip, append: Append, status: str, retention_ms: int) -> Appended | Refusal:
        await self._points.passes(grip.run_id, "finish.before")
        return await super().finish(grip, append, status, retention_ms)  # after it: the runner's own "finished"

    async def release(self, grip: Grip, committed: bytes | None, order: Order) -> bool:
        await self._points.passes(grip.run_id, "release.before")
        released = await super().release(grip, committed, order)
        await self._points.passes(grip.run_id, "release.after")
        return released
