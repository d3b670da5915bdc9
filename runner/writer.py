"""Appends a run's frames: sent at once when the line is idle, gathered while an append is under way.

So the first frame never waits, and under load a frame costs a fraction of a round trip. Order is kept, at most one append
of a run is under way, and every append names the index it begins at: sending it again after a lost reply is harmless.

Every reply says where the log ends. Where that is before what was written, the store has lost its tail, and it is appended
again from what is kept; where the run or more than that is gone, the run is put back (DESIGN: lost and found).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from checkpoints.budget import RESERVE_AHEAD
from checkpoints.port import Append, Appended, Refusal
from frames import sse
from protocol.checkpoint import TurnState
from protocol.errors import LostClaim, StoreUnavailable
from protocol.frames import Frame
from runner.hold import Hold
from runner.kept import Kept
from runner.parts import Parts
from runner.patience import patiently
from runner.restore import restore

MAX_UNSENT_BYTES = 1_048_576  # past it the runner waits for the log before it takes more from the model


@dataclass(frozen=True, slots=True)
class Boundary:
    """A checkpoint delta and the state it leads to."""

    delta: bytes
    state: TurnState


@dataclass(slots=True)
class _Piece:
    count: int
    payload: bytes
    boundary: Boundary | None = None
    ledger: dict[str, bytes] = field(default_factory=dict)
    durable: bool = False
    done: "asyncio.Future[bool] | None" = None


class DoesNotFit(Exception):
    """A frame is too large, or the run's byte budget is used up. Nothing was taken; the turn can end in good order."""


class FrameWriter:
    """One executor's pen. `next_index` is the index of the next frame handed in, sent or not.

    `on_stop` is called where the store tells of a stop, `on_trouble` once nothing more can be written.
    """

    def __init__(
        self,
        parts: Parts,
        hold: Hold,
        kept: Kept,
        *,
        on_stop: Callable[[], None],
        on_trouble: Callable[[], None],
    ) -> None:
        self.next_index = hold.claimed.next
        self._parts = parts
        self._hold = hold
        self._kept = kept
        self._room = hold.claimed.room
        self._reserved = hold.claimed.reserved
        self._on_stop = on_stop
        self._on_trouble = on_trouble
        self._unsent: list[_Piece] = []
        self._unsent_bytes = 0
        self._doubted = False
        self._pump: asyncio.Task[None] | None = None
        self._broken: Exception | None = None

    def put(self, frames: tuple[Frame, ...]) -> None:
        """Hand in frames. They are sent in the background. Raises DoesNotFit."""
        if frames:
            self._add(self._piece(frames))

    async def commit(
        self, frames: tuple[Frame, ...], boundary: Boundary | None, ledger: dict[str, bytes], *, durable: bool
    ) -> bool:
        """Hand in frames with what must become visible together with them, and wait until all is in the log.

        False where it was to be durable and the store did not confirm that. Raises DoesNotFit at once, LostClaim or
        StoreUnavailable later.
        """
        piece = self._piece(frames)
        piece.boundary = boundary
        piece.ledger = ledger
        piece.durable = durable
        piece.done = asyncio.get_running_loop().create_future()
        self._add(piece)
        return await piece.done

    async def room(self) -> None:
        """Let what was handed in leave, and wait while too much is unsent.

        A model that says much at once would otherwise hold back its own first words until the last ones are encoded, and
        every other turn of this process as long.
        """
        await asyncio.sleep(0)
        if self._unsent_bytes > MAX_UNSENT_BYTES:
            await self.flush()

    async def flush(self) -> None:
        """Wait until everything handed in is in the log. Raises LostClaim, StoreUnavailable or what our code broke of."""
        while self._pump is not None:
            await asyncio.shield(self._pump)
        if self._broken is not None:
            raise self._broken

    def renewed(self, reply: Appended) -> None:
        """The lease was renewed, and the reply says where the log ends."""
        if reply.next < self._kept.next:
            self.doubt()
        if reply.stop:
            self._stop()

    def doubt(self) -> None:
        """The store may have lost something: look, and put it there again."""
        self._doubted = True
        self._start()

    async def mend(self) -> None:
        """Put back what the store lost, and wait for it. Raises as `flush`."""
        self.doubt()
        await self.flush()

    def heard(self, inputs: dict[str, bytes]) -> None:
        """These inputs were read, the next ones by id: put back with the run where the store loses it."""
        self._kept.inputs.update(inputs)

    async def sure(self) -> None:
        """As the hold's, and what the store lost is put back. Raises LostClaim or StoreUnavailable."""
        await self._hold.sure(self.mend)

    def _piece(self, frames: tuple[Frame, ...]) -> _Piece:
        try:
            payload = b"".join(sse.encode(self.next_index + at, frame) for at, frame in enumerate(frames))
        except sse.FrameTooLarge:
            raise DoesNotFit from None
        if len(payload) > self._room:
            raise DoesNotFit
        self._room -= len(payload)
        self.next_index += len(frames)
        return _Piece(len(frames), payload)

    def _add(self, piece: _Piece) -> None:
        if self._broken is not None:
            if piece.done is not None:
                piece.done.set_exception(self._broken)
            return
        self._unsent.append(piece)
        self._unsent_bytes += len(piece.payload)
        self._start()

    def _start(self) -> None:
        if self._pump is None and self._broken is None:
            self._pump = asyncio.get_running_loop().create_task(self._send_all())

    async def _send_all(self) -> None:
        batch: list[_Piece] = []
        try:
            while self._unsent or self._doubted:
                batch = self._take()
                durable = await self._send(batch)
                for piece in batch:
                    if piece.done is not None and not piece.done.done():
                        piece.done.set_result(durable)
        except Exception as error:  # noqa: BLE001 - the turn waits for this task: whatever it dies of must be told
            self._break(error, batch)
        finally:
            self._pump = None

    def _take(self) -> list[_Piece]:
        """As much as one append can carry: it has room for one delta. Nothing, to ask where the log stands."""
        if self._doubted:
            self._doubted = False
            return []
        end = len(self._unsent)
        for at, piece in enumerate(self._unsent):
            if piece.boundary is not None or piece.durable:
                end = at + 1
                break
        batch, self._unsent = self._unsent[:end], self._unsent[end:]
        return batch

    async def _send(self, batch: list[_Piece]) -> bool:
        start, count = self._kept.next, sum(piece.count for piece in batch)
        end = start + count
        if end > self._reserved:
            # Ahead of the frames: what a reader may have seen must be known even to a store that lost it (C9).
            await self._deliver(Append(start=start, reserve=end + RESERVE_AHEAD))
        last = batch[-1] if batch else None
        append = Append(
            start=start,
            count=count,
            payload=b"".join(piece.payload for piece in batch),
            delta=last.boundary.delta if last and last.boundary else None,
            ledger={key: entry for piece in batch for key, entry in piece.ledger.items()},
            reserve=end + RESERVE_AHEAD if last and last.durable else 0,
        )
        reply = await self._deliver(append)
        if last:
            self._kept.taken(append, last.boundary.state if last.boundary else None)
            self._unsent_bytes -= len(append.payload)
        if reply.stop:
            self._stop()
        return reply.durable

    async def _deliver(self, append: Append) -> Appended:
        """Append it, after bringing the log to where it belongs."""
        due = [append]
        while True:
            first = due[0]
            try:
                reply = await self._append(first)
            except StoreUnavailable:
                # The write may have happened. The same again is refused by its index then, and answers as the first.
                reply = await patiently(self._parts, partial(self._append, first))
            if isinstance(reply, Refusal) and reply is not Refusal.MISSING:
                raise LostClaim  # fenced or closed: not ours to write any more
            if isinstance(reply, Refusal) or reply.next != first.start + first.count:
                due = [*await self._again(reply, first), append]
                continue
            self._reserved = max(self._reserved, first.reserve)
            due.pop(0)
            if not due:
                return reply

    async def _again(self, reply: Appended | Refusal, refused: Append) -> list[Append]:
        """What the store has to be told again. Where that is not kept any more it is given the run anew."""
        if isinstance(reply, Appended):
            if reply.next > refused.start:
                raise LostClaim  # the log stands further than we left it: somebody else's frames are in it
            again = self._kept.since(reply.next)
            if again is not None:
                return again
        await self._restore()
        return []

    async def _append(self, append: Append) -> Appended | Refusal:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        reply = await self._parts.store.append(self._hold.grip, append)
        self._parts.observer.appended(append.count, (loop.time() - begun) * 1000)
        return reply

    async def _restore(self) -> None:
        claimed = await restore(self._parts, self._hold, self._kept.remains())
        self._room, self._reserved = claimed.room - self._unsent_bytes, claimed.reserved
        if claimed.stop:
            self._stop()

    def _stop(self) -> None:
        self._kept.stop = True
        self._on_stop()

    def _break(self, error: Exception, batch: list[_Piece]) -> None:
        self._broken = error
        if isinstance(error, StoreUnavailable):
            self._parts.observer.trouble(self._hold.grip.run_id, "the store stayed away, another attempt has to go on")
        for piece in (*batch, *self._unsent):
            if piece.done is not None and not piece.done.done():
                piece.done.set_exception(error)
        self._unsent = []
        self._on_trouble()
