"""A run whose keys are gone: put back by its executor, or ended where nobody has it any more (C5).

A missing key says nothing: deleted, expired, flushed and never created look alike. The records know, so they are asked, before
and after. Only an executor that lives can put a run back; one that would have to begin from nothing would show the answer
twice and repeat its effects.
"""

from checkpoints.port import Append, Claimed, Grip, Refusal, Remains
from protocol.checkpoint import Seal
from protocol.errors import LostClaim
from protocol.turn import ENDED, SliceResult
from records.values import Key, Run, Settlement
from runner.hold import Hold
from runner.parts import Parts
from runner.patience import patiently


async def restore(parts: Parts, hold: Hold, remains: Remains) -> Claimed:
    """Put the run back and take hold of it anew.

    Raises:
        LostClaim: It has ended or was deleted, or somebody else has it.
        StoreUnavailable: Records or store stayed away.
    """
    run_id = hold.grip.run_id
    # Who slept through its lease when the keys went may have been replaced before, and nothing is left that would tell.
    if hold.slept or not await _lives(parts, run_id):
        raise LostClaim
    hold.restoring = (
        True  # until the new grip is known here, too: a renewal with the old one would be told that it is fenced
    )
    try:
        return await _restore(parts, hold, remains)
    finally:
        hold.restoring = False


async def _restore(parts: Parts, hold: Hold, remains: Remains) -> Claimed:
    run_id, begun = hold.grip.run_id, parts.clock.monotonic_ms()
    claimed = await patiently(parts, lambda: parts.store.restore(hold.grip, hold.request, remains))
    if isinstance(claimed, Refusal):
        raise LostClaim
    if not await _lives(parts, run_id):
        await _erase(parts, claimed)
        raise LostClaim
    hold.restored(claimed, since_ms=begun)
    parts.observer.trouble(run_id, "the store had lost the run, its executor put it back")
    return claimed


async def over(parts: Parts, hold: Hold) -> SliceResult | None:
    """How the run has ended, where it has, though a store that went back to before its seal takes it for running (C9).

    What the store has of it goes: readers find the answer in the records, or will, where it still waits for them (C24).
    Raises StoreUnavailable.
    """
    run_id = hold.grip.run_id
    kept = await patiently(parts, lambda: parts.outbox.kept(run_id))
    if kept is not None:
        await _erase(parts, hold.claimed)
        return SliceResult(outcome="ended", status=Seal.model_validate_json(kept).outcome.status)
    if await _lives(parts, run_id):
        return None
    await _erase(parts, hold.claimed)
    run = await patiently(parts, lambda: parts.records.run(run_id))
    return SliceResult(outcome="ended", status=run.status if run else "interrupted")


async def end_missing(parts: Parts, run_id: str) -> SliceResult:
    """End a run of which nothing is left but its row, once nobody lives who could put it back.

    The result is "ended", "missing" where there is no such run, or "stale" where another process has it in its memory (C6).
    Raises TurnkeepError where the records are away.
    """
    run = await parts.records.run(run_id)
    if run is None:
        return SliceResult(outcome="missing")
    if run.status in ENDED:
        return SliceResult(outcome="ended", status=run.status)
    if run.memory:
        return SliceResult(outcome="stale")
    settlement = Settlement(status="interrupted", kind="interrupted", now_ms=parts.clock.now_ms())
    await parts.records.settle(run_id, settlement)
    parts.observer.ended(run_id, "interrupted", "interrupted")
    return SliceResult(outcome="ended", status="interrupted")


async def _lives(parts: Parts, run_id: str) -> bool:
    run = await patiently(parts, lambda: parts.records.run(run_id))
    if run is None or run.status in ENDED:
        return False
    return await patiently(parts, lambda: parts.records.conversation(_place(run))) is not None


def _place(run: Run) -> Key:
    return Key(tenant=run.tenant, owner=run.owner, conversation_id=run.conversation_id)


async def _erase(parts: Parts, claimed: Claimed) -> None:
    # An end without retention is what takes a run's keys away.
    grip: Grip = claimed.grip
    nothing = Append(start=claimed.next)
    await patiently(parts, lambda: parts.store.seal(grip, nothing, b"", stop_seen=True))
    await patiently(parts, lambda: parts.store.finish(grip, nothing, "interrupted", 0))
