"""Appends a run's frames: sent at once when the line is idle, gathered while an append is under way.

So the first frame never waits, and under load a frame costs a fraction of a round trip. Order is kept, at most one append
of a run is under way, and every append names the index it begins at: sending it again after a lost reply is harmless.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from checkpoints.port import Append, Appended, Claimed, Refusal
from frames import sse
from protocol.errors import LostClaim, StoreUnavailable
from protocol.frames import Frame
from runner.parts import Parts

RETRY_SECONDS = 0.05  # between tries while the store is away: far below what a reader notices
MAX_UNSENT_BYTES = 1_048_576  # past it the runner waits for the log before it takes more from the model


@dataclass(slots=True)
class _Piece:
    count: int
    payload: bytes
    delta: bytes | None = None
    ledger: dict[str, bytes] = field(default_factory=dict)
    done: "asyncio.Future[None] | None" = None


class DoesNotFit(Exception):
    """A frame is too large, or the run's byte budget is used up. Nothing was taken; the turn can end in good order."""


class FrameWriter:
    """One executor's pen. `next_index` is the index of the next frame handed in, sent or not."""

    def __init__(
        self, parts: Parts, claimed: Claimed, *, on_stop: Callable[[], None], on_trouble: Callable[[], None]
    ) -> None:
        self.next_index = claimed.next
        self._parts = parts
        self._grip = claimed.grip
        self._sent = claimed.next
        self._room = claimed.room
        self._on_stop = on_stop
        self._on_trouble = on_trouble
        self._unsent: list[_Piece] = []
        self._unsent_bytes = 0
        self._pump: asyncio.Task[None] | None = None
        self._broken: Exception | None = None

    def put(self, frames: tuple[Frame, ...]) -> None:
        """Hand in frames. They are sent in the background. Raises DoesNotFit."""
        if frames:
            self._add(self._piece(frames))

    async def commit(self, frames: tuple[Frame, ...], delta: bytes | None, ledger: dict[str, bytes]) -> None:
        """Hand in frames with what must be durable together with them, and wait until all is in the log.

        Raises DoesNotFit at once, LostClaim or StoreUnavailable later.
        """
        piece = self._piece(frames)
        piece.delta = delta
        piece.ledger = ledger
        piece.done = asyncio.get_running_loop().create_future()
        self._add(piece)
        await piece.done

    async def room(self) -> None:
        """Let what was handed in leave, and wait while too much is unsent.

        A model that says much at once would otherwise hold back its own first words until the last ones are encoded, and
        every other turn of this process as long.
        """
        await asyncio.sleep(0)
        if self._unsent_bytes > MAX_UNSENT_BYTES:
            await self.flush()

    async def flush(self) -> None:
        """Wait until everything handed in is in the log. Raises LostClaim or StoreUnavailable."""
        while self._pump is not None:
            await asyncio.shield(self._pump)
        if self._broken is not None:
            raise self._broken

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
        if self._pump is None:
            self._pump = asyncio.get_running_loop().create_task(self._send_all())

    async def _send_all(self) -> None:
        batch: list[_Piece] = []
        try:
            while self._unsent:
                batch = self._take()
                await self._send(batch)
                for piece in batch:
                    if piece.done is not None and not piece.done.done():
                        piece.done.set_result(None)
        except (LostClaim, StoreUnavailable) as error:
            self._break(error, batch)
        finally:
            self._pump = None

    def _take(self) -> list[_Piece]:
        """As much as one append can carry: it has room for one delta."""
        end = next((at + 1 for at, piece in enumerate(self._unsent) if piece.delta is not None), len(self._unsent))
        batch, self._unsent = self._unsent[:end], self._unsent[end:]
        return batch

    async def _send(self, batch: list[_Piece]) -> None:
        payload = b"".join(piece.payload for piece in batch)
        append = Append(
            start=self._sent,
            count=sum(piece.count for piece in batch),
            payload=payload,
            delta=batch[-1].delta,
            ledger={key: entry for piece in batch for key, entry in piece.ledger.items()},
        )
        reply = await self._deliver(append)
        if isinstance(reply, Refusal) or reply.next != append.start + append.count:
            # Fenced, closed, gone, or a log that stands elsewhere than we left it: not ours to write any more.
            raise LostClaim
        self._sent = reply.next
        self._unsent_bytes -= len(payload)
        if reply.stop:
            self._on_stop()

    async def _deliver(self, append: Append) -> Appended | Refusal:
        clock = self._parts.clock
        give_up = clock.monotonic_ms() + self._parts.settings.store_patience_ms
        while True:
            begun = asyncio.get_running_loop().time()
            try:
                reply = await self._parts.store.append(self._grip, append)
            except StoreUnavailable:
                # The write may have happened. The same append again is refused by its index then, and answers as the first.
                if clock.monotonic_ms() >= give_up:
                    raise
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self._parts.observer.appended(append.count, (asyncio.get_running_loop().time() - begun) * 1000)
                return reply

    def _break(self, error: Exception, batch: list[_Piece]) -> None:
        self._broken = error
        for piece in (*batch, *self._unsent):
            if piece.done is not None and not piece.done.done():
                piece.done.set_exception(error)
        self._unsent = []
        self._on_trouble()
