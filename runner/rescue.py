"""Ending a run that no build here can carry on: its checkpoint is unreadable, or its assistant is gone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from checkpoints.port import Claimed, Grip, RunStore
from engine.salvage import salvage
from engine.values import Plan
from frames import sse
from protocol.checkpoint import Outcome
from protocol.errors import LostClaim
from protocol.frames import Frame
from runner import settlement
from runner.parts import Parts
from runner.settlement import Settled
from runner.work import Work, hold_lease
from runner.writer import FrameWriter

_PAGE_BYTES = 4 * 1024 * 1024


async def end_from_log(parts: Parts, claimed: Claimed, ending: Outcome) -> Settled:
    """Close in the log what is open and settle what readers saw. Raises LostClaim or StoreUnavailable."""
    run_id = claimed.grip.run_id
    plain = run_id.replace("-", "")
    plan = Plan(run_id=run_id, conversation_id="", message_id=f"msg_{plain}", assistant="", model="")
    log = await _read(parts.store, run_id)
    writer = FrameWriter(parts, claimed, on_stop=lambda: None, on_trouble=lambda: None)
    return await settlement.settle(parts, claimed.grip, writer, salvage(plan, log, ending))


@asynccontextmanager
async def holding(parts: Parts, grip: Grip) -> AsyncIterator[None]:
    """Keep the lease while the block waits for records: nobody should come to settle what is being settled."""
    work = Work()
    bounds = {"lease_ms": parts.settings.lease_ms, "renew_ms": parts.settings.renew_ms}
    work.start(hold_lease(work, parts.store, grip, **bounds))
    try:
        yield
    finally:
        await work.close()


async def _read(store: RunStore, run_id: str) -> tuple[Frame, ...]:
    frames: list[Frame] = []
    while True:
        page = await store.read(run_id, len(frames), _PAGE_BYTES)
        if page is None:
            raise LostClaim
        pieces = (sse.decode(piece) for entry in page.entries for piece in sse.split(entry.payload))
        frames += [frame for index, frame in pieces if index >= len(frames)]
        if len(frames) >= page.next or not page.entries:
            return tuple(frames)
