"""Seeded bugs: what a careless store or supervisor would do. Each must be found by the suite, or its silence means nothing.

They are put between the runner and the store, or between supervisor and server, in the test's composition; nothing of the
product is changed.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from temporalio.client import Client as Temporal
from temporalio.service import RPCError

from app.compose import Core
from app.holdings import Held
from app.settings import Settings
from app.stack.reclaim import Reclaim
from checkpoints.port import Append, Appended, Claimed, ClaimRequest, Grip, Refusal, Refused, Sealed
from protocol.checkpoint import Seal
from records.values import Settlement
from tests.crash.points import Points
from tests.crash.store import PointedStore

_RESET = b'event: reset-step\ndata: {"type":"reset-step"}'
_VOID = b'event: data-void\ndata: {"type":"data-void","data":null,"transient":true}'


class FenceOff(PointedStore):
    """Whoever writes is let write, wherever the log stands: no attempt is asked for, and no index."""

    async def append(self, grip: Grip, append: Append) -> Appended | Refusal:
        reply = await super().append(grip, append)
        wanted = append.start + append.count
        if isinstance(reply, Appended) and reply.next == wanted:
            return reply
        newest, following = await self._newest(grip.run_id)
        await super().append(newest, replace(append, start=following))
        return Appended(wanted, stop=False)

    async def seal(
        self, grip: Grip, append: Append, seal: bytes, *, stop_seen: bool, inputs_seen: int | None = None
    ) -> Sealed | Appended | Refusal:
        newest, following = await self._newest(grip.run_id)
        return await super().seal(
            newest, replace(append, start=following), seal, stop_seen=stop_seen, inputs_seen=inputs_seen
        )

    async def renew(self, grip: Grip, lease_ms: int) -> Appended | Refusal:
        reply = await super().renew(grip, lease_ms)
        return Appended(0, stop=False) if isinstance(reply, Refusal) else reply

    async def _newest(self, run_id: str) -> tuple[Grip, int]:
        fields = await self._client.execute("HMGET", self._keys.meta(run_id), "grip", "next")
        attempt, _, owner = fields[0].decode().partition(":")
        return Grip(run_id, int(attempt or 0), owner), int(fields[1])


class IntentsLate(PointedStore):
    """What the ledger learns at a boundary is written with the next write, when the tools have long started."""

    def __init__(self, core: Core, points: Points, folder: Path) -> None:
        super().__init__(core, points, folder)
        self._late: dict[str, dict[str, bytes]] = {}

    async def append(self, grip: Grip, append: Append) -> Appended | Refusal:
        ledger = {**self._late.pop(grip.run_id, {}), **append.ledger}
        if append.delta is not None:
            self._late[grip.run_id], ledger = ledger, {}
        return await super().append(grip, replace(append, ledger=ledger))


class RecordsFirst(PointedStore):
    """The answer is committed before the outcome is sealed."""

    async def seal(
        self, grip: Grip, append: Append, seal: bytes, *, stop_seen: bool, inputs_seen: int | None = None
    ) -> Sealed | Appended | Refusal:
        decided = Seal.model_validate_json(seal)
        settlement = Settlement(status=decided.outcome.status, now_ms=self._clock.now_ms(), parts=decided.message.parts)
        await self._records.settle(grip.run_id, settlement)
        return await super().seal(grip, append, seal, stop_seen=stop_seen, inputs_seen=inputs_seen)


class NoReset(PointedStore):
    """The text of an attempt that died is not withdrawn."""

    async def append(self, grip: Grip, append: Append) -> Appended | Refusal:
        return await super().append(grip, replace(append, payload=append.payload.replace(_RESET, _VOID)))


class MissingIsFresh(PointedStore):
    """A run whose keys are gone is taken for one that has not begun."""

    async def open(self, run_id: str, request: bytes) -> bool:
        (self._folder / f"{run_id}.request").write_bytes(request)
        return await super().open(run_id, request)

    async def claim(self, run_id: str, claim: ClaimRequest) -> Claimed | Refused:
        reply = await super().claim(run_id, claim)
        if isinstance(reply, Refused) and reply.why is Refusal.MISSING:
            await super().open(run_id, (self._folder / f"{run_id}.request").read_bytes())
            reply = await super().claim(run_id, claim)
        return reply


class StopUnseen(PointedStore):
    """The seal does not look whether a stop was recorded."""

    async def seal(
        self, grip: Grip, append: Append, seal: bytes, *, stop_seen: bool, inputs_seen: int | None = None
    ) -> Sealed | Appended | Refusal:
        return await super().seal(grip, append, seal, stop_seen=True, inputs_seen=inputs_seen)


class ByActivityId(Reclaim):
    """A dead worker's activity is failed by its id, whichever attempt runs by then."""

    async def _one(self, temporal: Temporal, held: Held) -> None:
        assert held.grip is not None
        run_id = held.grip.run_id
        with suppress(RPCError):
            description = await temporal.get_workflow_handle(run_id).describe()
            (pending,) = description.raw_description.pending_activities
            handle = temporal.get_async_activity_handle(
                workflow_id=run_id, run_id=None, activity_id=pending.activity_id
            )
            await handle.fail(RuntimeError("worker died"))


@asynccontextmanager
async def reclaim_of(bug: str, settings: Settings) -> AsyncIterator[Reclaim]:
    """What a supervisor gives back with."""
    reclaim = (ByActivityId if bug == "by-activity-id" else Reclaim)(settings)
    await reclaim.prepare()
    try:
        yield reclaim
    finally:
        await reclaim.close()


STORES: Final[dict[str, type[PointedStore]]] = {
    "fence-off": FenceOff,
    "intents-late": IntentsLate,
    "records-first": RecordsFirst,
    "no-reset": NoReset,
    "missing-is-fresh": MissingIsFresh,
    "stop-unseen": StopUnseen,
}

BUGS: Final = (*STORES, "by-activity-id")
