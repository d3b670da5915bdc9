"""The end of a run, in an order that any process can finish: seal, records, tail (C3).

The seal decides; whoever comes later only replays it. The records are written before the terminal frame, so a reader that
saw `finish` finds the message stored. Where they stay away past a bound the seal goes into the outbox first, and whoever
finds it there when they are back writes them (C24).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from checkpoints.port import Append, Appended, Grip, Refusal, Sealed
from engine.settle import seal_of, stopped_instead, tail_of
from engine.values import Advance, Settle
from frames import sse
from protocol.checkpoint import Seal
from protocol.errors import LostClaim, TurnkeepError
from protocol.frames import Frame
from records.values import Settlement
from runner.collect import observed, tell_ended
from runner.hold import Hold
from runner.parts import Parts
from runner.patience import RETRY_SECONDS, patiently
from runner.writer import FrameWriter


@dataclass(frozen=True, slots=True)
class Settled:
    """A run that has ended: its seal and the length of its log."""

    seal: Seal
    frames: int


async def settle(parts: Parts, hold: Hold, writer: FrameWriter, advance: Advance) -> Settled | None:
    """Seal what the engine decided and finish the run. Raises LostClaim or StoreUnavailable.

    None: nothing is sealed, because the answer is complete and somebody has said something that it does not know of.
    """
    status = advance.command.outcome.status if isinstance(advance.command, Settle) else ""
    stop_seen = status == "stopped"
    inputs_seen = advance.turn.state.taken if status == "completed" else None
    while True:
        await writer.flush()
        append = _append(writer.next_index, advance.frames)
        write = partial(parts.store.seal, hold.grip, append, _seal(parts, advance))
        reply = await patiently(parts, partial(write, stop_seen=stop_seen, inputs_seen=inputs_seen))
        if reply is Refusal.STOP_FIRST:
            advance, stop_seen, inputs_seen = stopped_instead(advance), True, None
            continue
        if reply is Refusal.MISSING or isinstance(reply, Appended):
            await writer.mend()  # the store lost frames before the seal
            continue
        if reply is Refusal.INPUT_FIRST:
            return None
        if not isinstance(reply, Sealed):
            raise LostClaim
        if not reply.durable:
            parts.observer.trouble(hold.grip.run_id, "the outcome may not be on disk")
        await parts.fault("sealed")
        settled = await finish(parts, hold, Seal.model_validate_json(reply.seal), reply.next, sure=writer.sure)
        if settled is not None:
            return settled
        await writer.mend()  # the store lost the seal


async def finish(
    parts: Parts, hold: Hold, seal: Seal, next_index: int, *, sure: Callable[[], Awaitable[None]]
) -> Settled | None:
    """Write the records as the seal says, then the terminal frame. For the sealer and for whoever takes over after it.

    None where the store lost the seal meanwhile and the records do not hold the answer. Raises as `settle`.
    """
    stored = await _store(parts, hold.grip, seal, sure)
    await parts.fault("stored")
    tail = _append(next_index, tail_of(seal, stored=stored))
    write = partial(parts.store.finish, hold.grip, tail, seal.outcome.status, parts.settings.retention_ms)
    reply = await patiently(parts, write)
    lost = reply in (Refusal.MISSING, Refusal.UNSEALED)
    if lost and not stored:
        return None
    if isinstance(reply, Refusal) and not lost:
        raise LostClaim
    await parts.fault("finished")
    parts.observer.ended(hold.grip.run_id, seal.outcome.status, seal.outcome.kind)
    await tell_ended(parts, hold.grip.run_id, seal)
    return Settled(seal, tail.start + tail.count)


def settlement_of(seal: Seal, now_ms: int) -> Settlement:
    """What the records get, whoever writes it and when."""
    return Settlement(
        status=seal.outcome.status,
        now_ms=now_ms,
        kind=seal.outcome.kind,
        parts=seal.message.parts,
        provider=seal.provider,
        model=seal.model,
        usage=seal.usage,
    )


async def _store(parts: Parts, grip: Grip, seal: Seal, sure: Callable[[], Awaitable[None]]) -> bool:
    """Whether the records hold the answer. Where they cannot be reached it is in the outbox, before anybody is told."""
    give_up = parts.clock.monotonic_ms() + parts.settings.records_patience_ms
    while True:
        await sure()
        try:
            return await parts.records.settle(grip.run_id, settlement_of(seal, parts.clock.now_ms()))
        except TurnkeepError:
            if parts.clock.monotonic_ms() >= give_up:
                break
            await asyncio.sleep(RETRY_SECONDS)
        except Exception:  # noqa: BLE001 - records that refuse an answer are mended by another build: this run ends now
            break
    await parts.outbox.keep(grip.run_id, seal.model_dump_json().encode())
    await parts.fault("kept")
    parts.observer.trouble(grip.run_id, "the answer is not in the records")
    return False


def _seal(parts: Parts, advance: Advance) -> bytes:
    state = observed(parts, advance.turn.state)
    if state.outcome is None:
        raise ValueError("only a settled turn has a seal")
    return seal_of(state, state.outcome).model_dump_json().encode()


def _append(start: int, frames: tuple[Frame, ...]) -> Append:
    payload = b"".join(sse.encode(start + at, frame) for at, frame in enumerate(frames))
    return Append(start=start, count=len(frames), payload=payload)
