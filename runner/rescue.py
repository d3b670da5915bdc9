"""Ending a run that no build here can carry on: its checkpoint is unreadable, or its assistant is gone."""

from checkpoints.port import Loaded, RunStore
from engine.salvage import salvage
from engine.values import Plan
from frames import sse
from protocol.checkpoint import Outcome
from protocol.errors import LostClaim
from protocol.frames import Frame
from runner import settlement
from runner.hold import Hold
from runner.kept import Kept
from runner.parts import Parts
from runner.settlement import Settled
from runner.writer import FrameWriter

_PAGE_BYTES = 4 * 1024 * 1024


async def end_from_log(parts: Parts, hold: Hold, loaded: Loaded, ending: Outcome) -> Settled:
    """Close in the log what is open and settle what readers saw. Raises LostClaim or StoreUnavailable."""
    run_id = hold.grip.run_id
    plain = run_id.replace("-", "")
    plan = Plan(run_id=run_id, conversation_id="", message_id=f"msg_{plain}", assistant="", model="")
    log = await _read(parts.store, run_id)
    kept = Kept(hold.claimed, loaded, None)
    writer = FrameWriter(parts, hold, kept, on_stop=lambda: None, on_trouble=lambda: None)
    settled = await settlement.settle(parts, hold, writer, salvage(plan, log, ending))
    if settled is None:
        raise RuntimeError("only a complete answer waits for what was said meanwhile")
    return settled


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
