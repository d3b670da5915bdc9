"""One reader's place in a run, and what all readers of the run share.

A viewer is an index. It hands out frames in order, each once, and its index moves only when bytes are handed out: a slow
reader holds nothing back, needs no queue, and may be cancelled anywhere.
"""

import asyncio
from typing import Final, Literal

from frames.port import FrameSource
from frames.ring import Ring, without
from protocol.errors import StoreUnavailable, TurnkeepError
from protocol.log import Page

PAGE_BYTES: Final = 64 * 1024  # one read of the log: what a viewer that is behind holds at once
MISSING_READS: Final = 5  # the hub reads once a second; an executor that lives has put its frames back by then


class Aborted(Exception):
    """The process stops. Abort the connection: a clean end would look like the end of the answer."""


def gone(first: int | None) -> TurnkeepError:
    """The log does not go back as far as asked: `first` is the oldest index kept, None where nothing is."""
    details = {} if first is None else {"first": str(first)}
    return TurnkeepError("gone", "This part of the run is not kept any more.", details=details)


class WatchedRun:
    """A run that somebody watches."""

    __slots__ = (
        "doubt", "filling", "final", "id", "joining", "lock", "missing", "ring", "stuck", "subscribed", "touched",
        "verdict", "viewers",
    )  # fmt: skip

    def __init__(self, run_id: str) -> None:
        self.id = run_id
        self.ring: Ring | None = None  # until the first read told where the log stands
        self.final: int | None = None  # where the log ended, once it has
        self.viewers: set[Viewer] = set()
        self.joining = 0  # viewers on their way; they keep the run like one that is here
        self.lock = asyncio.Lock()  # an unsubscribe must not be overtaken by the subscribe of who comes next
        self.subscribed = False
        self.doubt = False  # frames may be missing between the ring's end and the log's
        self.filling = False
        self.touched = False  # something was pushed since the hub's last round
        self.missing = 0  # reads in a row that found no log
        self.stuck = False  # a viewer waits for a page that the source did not give
        self.verdict: Literal["", "aborted", "gone"] = ""

    @property
    def watched(self) -> bool:
        return bool(self.viewers) or self.joining > 0

    def wake(self) -> None:
        for viewer in self.viewers:
            viewer.wake()

    def judge(self, verdict: Literal["aborted", "gone"]) -> None:
        """Make every `next` raise."""
        if self.verdict != "aborted":
            self.verdict = verdict
            self.wake()

    def found(self) -> None:
        """The log is there, perhaps again."""
        self.missing = 0
        if self.verdict == "gone":
            self.verdict = ""

    def take(self, page: Page | None) -> bool:
        """Put what was read from the ring's end into the ring. True where that was something, and the log has more."""
        if page is None or self.ring is None:
            self.missing += 1
            if self.missing == MISSING_READS:
                self.judge("gone")
            return False
        self.found()
        if page.first > self.ring.end:  # cut off before we read it: a viewer that needs it finds it gone
            self.ring = Ring(page.first)
        before = self.ring.end
        for entry in page.entries:
            self.add(entry.end, entry.count, entry.payload)
        if page.ended:
            self.end_at(page.next)
        return before < self.ring.end < page.next

    def add(self, end: int, count: int, payload: bytes) -> bool:
        """Put frames into the ring and wake who waits for them. False where frames before them are missing."""
        if self.ring is None or not self.ring.add(end, count, payload):
            return False
        self.wake()
        return True

    def end_at(self, final: int) -> None:
        """Nothing follows this index."""
        if self.final is None:
            self.final = final
            self.wake()


class Viewer:
    """A cursor in a run, for one task at a time. Close it when its reader has left.

    while not viewer.ended:
        chunk = await viewer.next(15)
        if chunk or not viewer.ended:
            await send(chunk or HEARTBEAT)
    await send(DONE)
    """

    __slots__ = ("_deadline", "_future", "_loop", "_page", "_run", "_source", "_timer", "_timer_at", "index")

    def __init__(self, source: FrameSource, run: WatchedRun, index: int, page: Page | None) -> None:
        self.index = index  # of the next frame to be handed out
        self._source = source
        self._run = run
        self._page = page  # read on the way in
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[bool] | None = None
        # One timer that is moved on when it fires, not one per wait: to set and cancel one for each frame costs more than
        # to hand the frame out.
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._deadline = 0.0

    @property
    def ended(self) -> bool:
        """The terminal frame was handed out and nothing follows."""
        final = self._run.final
        return final is not None and self.index >= final

    async def next(self, timeout: float) -> bytes | None:
        """The frames that follow, as finished bytes. None where nothing came for `timeout` seconds or the run has ended.

        Raises:
            Aborted: the process stops.
            TurnkeepError: `gone`: what comes next is not kept any more.
        """
        deadline = self._loop.time() + timeout
        while True:
            self._raise_verdict()
            ring = self._run.ring
            chunk = None
            if ring is not None and ring.start <= self.index < ring.end:
                chunk = ring.since(self.index)
                self.index, self._page = ring.end, None  # a page of an older moment must not be handed out after it
            elif self._page is not None or ring is None or self.index < ring.start:
                chunk = await self._from_log()
            if chunk:
                return chunk
            if self.ended or not await self._woken(deadline):
                return None

    def close(self) -> None:
        """Leave the run."""
        self._run.viewers.discard(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def wake(self) -> None:
        """End a wait: there may be something to hand out."""
        if self._future is not None and not self._future.done():
            self._future.set_result(True)

    def _raise_verdict(self) -> None:
        if self._run.verdict == "aborted":
            raise Aborted
        if self._run.verdict == "gone":
            raise gone(None)

    async def _from_log(self) -> bytes:
        page, self._page = self._page, None
        if page is None:
            try:
                page = await self._source.read(self._run.id, self.index, PAGE_BYTES)
            except StoreUnavailable:
                self._run.stuck = True
                return b""
            if page is None or page.first > self.index:
                raise gone(None if page is None else page.first)
        if not page.entries:
            self._run.stuck = True  # the store went back to before our index: its writer puts the frames there again
            return b""
        entry, *rest = page.entries
        head = without(entry.payload, self.index - (entry.end - entry.count))
        self.index = page.entries[-1].end
        return b"".join((head, *(entry.payload for entry in rest))) if rest else head

    async def _woken(self, deadline: float) -> bool:
        self._deadline = deadline
        if self._timer is None or self._timer_at > deadline:
            self._set_timer()
        self._future = self._loop.create_future()
        try:
            return await self._future
        finally:
            self._future = None

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = self._deadline
        self._timer = self._loop.call_at(self._deadline, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._future is None or self._future.done():
            return
        if self._loop.time() < self._deadline:  # it was set for an earlier wait, which something ended
            self._set_timer()
        else:
            self._future.set_result(False)
