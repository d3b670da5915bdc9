"""The end of a run, in an order that any process can finish: seal, records, tail (C3).

The seal decides; whoever comes later only replays it. The records are written before the terminal frame, so a reader that
saw `finish` finds the message stored.
"""

import asyncio
from dataclasses import dataclass

from checkpoints.port import Append, Grip, Refusal, Sealed
from engine.settle import seal_of, stopped_instead, tail_of
from engine.values import Advance, Settle
from frames import sse
from protocol.checkpoint import Seal
from protocol.errors import LostClaim, TurnkeepError
from protocol.frames import Frame
from records.values import Settlement
from runner.parts import Parts
from runner.writer import RETRY_SECONDS, FrameWriter


@dataclass(frozen=True, slots=True)
class Settled:
    """A run that has ended: its seal and the length of its log."""

    seal: Seal
    frames: int


async def settle(parts: Parts, grip: Grip, writer: FrameWriter, advance: Advance) -> Settled | None:
    """Seal what the engine decided and finish the run. Raises LostClaim or StoreUnavailable.

    None: nothing is sealed, because the answer is complete and somebody has said something that it does not know of.
    """
    await writer.flush()
    status = advance.command.outcome.status if isinstance(advance.command, Settle) else ""
    stop_seen = status == "stopped"
    inputs_seen = advance.turn.state.taken if status == "completed" else None
    while True:
        append = _append(writer.next_index, advance.frames)
        reply = await parts.store.seal(grip, append, _seal(advance), stop_seen=stop_seen, inputs_seen=inputs_seen)
        if reply is Refusal.STOP_FIRST:
            advance, stop_seen, inputs_seen = stopped_instead(advance), True, None
            continue
        if reply is Refusal.INPUT_FIRST:
            return None
        if not isinstance(reply, Sealed):
            raise LostClaim
        await parts.fault("sealed")
        return await finish(parts, grip, Seal.model_validate_json(reply.seal), reply.next)


async def finish(parts: Parts, grip: Grip, seal: Seal, next_index: int) -> Settled:
    """Write the records as the seal says, then the terminal frame. For the sealer and for whoever takes over after it."""
    stored = await _store(parts, grip, seal)
    await parts.fault("stored")
    tail = _append(next_index, tail_of(seal, stored=stored))
    reply = await parts.store.finish(grip, tail, seal.outcome.status, parts.settings.retention_ms)
    if isinstance(reply, Refusal) and reply is not Refusal.ENDED:
        raise LostClaim
    await parts.fault("finished")
    parts.observer.ended(grip.run_id, seal.outcome.status, seal.outcome.kind)
    return Settled(seal, tail.start + tail.count)


async def _store(parts: Parts, grip: Grip, seal: Seal) -> bool:
    settlement = Settlement(
        status=seal.outcome.status,
        now_ms=parts.clock.now_ms(),
        kind=seal.outcome.kind,
        parts=seal.message.parts,
        provider=seal.provider,
        model=seal.model,
        usage=seal.usage,
    )
    give_up = parts.clock.monotonic_ms() + parts.settings.records_patience_ms
    while True:
        try:
            return await parts.records.settle(grip.run_id, settlement)
        except TurnkeepError:
            if parts.clock.monotonic_ms() >= give_up:
                parts.observer.trouble(grip.run_id, "the answer is not in the records")
                return False
            await asyncio.sleep(RETRY_SECONDS)


def _seal(advance: Advance) -> bytes:
    state = advance.turn.state
    if state.outcome is None:
        raise ValueError("only a settled turn has a seal")
    return seal_of(state, state.outcome).model_dump_json().encode()


def _append(start: int, frames: tuple[Frame, ...]) -> Append:
    payload = b"".join(sse.encode(start + at, frame) for at, frame in enumerate(frames))
    return Append(start=start, count=len(frames), payload=payload)
