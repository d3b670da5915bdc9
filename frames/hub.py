"""One log, many viewers: the fan-out of a process.

A process subscribes once to each run that somebody watches. What is pushed goes into the run's ring and wakes its viewers;
who is behind the ring reads pages of the log for itself.

Rules
 - Subscribe first, then read: a push in between is either in the page or leaves a gap that is seen.
 - Every message carries its index. Repeats are dropped, overlaps cut, gaps filled from the log. Content is never compared.
 - Where the source does not answer, viewers wait (their callers send heartbeats) and get the missed frames afterwards.
 - A log that is shorter than the ring (a store that went back, C9) is waited for: its writer pushes the frames again.
 - No task per viewer, and none per run except while one fills a gap: one task tends all runs.

Not here: who may read, comments and projections, what is answered for a run whose log is gone.
"""

import asyncio
from contextlib import suppress
from typing import Final

from frames.port import FrameSource
from frames.ring import Ring
from frames.viewer import PAGE_BYTES, Aborted, Viewer, WatchedRun, gone
from protocol.errors import StoreUnavailable, TurnkeepError
from protocol.log import Page, Pushed

__all__ = ["Aborted", "Hub", "Viewer"]

ROUND_SECONDS: Final = 1.0  # how long a push that was lost without a trace goes unnoticed
POLLS: Final = 256  # quiet runs read in a round; where there are more, each waits for its turn
READS_AT_ONCE: Final = 64  # so that a round over all runs does not hold up viewers that read for themselves


class Hub:
    """All watched runs of this process. Give it its source, attach viewers, close it at the end."""

    def __init__(self, source: FrameSource, *, round_seconds: float = ROUND_SECONDS) -> None:
        self._source = source
        self._round_seconds = round_seconds
        self._runs: dict[str, WatchedRun] = {}  # who was polled last stands at the end
        self._fills: set[asyncio.Task[bool]] = set()
        self._tending: asyncio.Task[None] | None = None
        self._at_once = asyncio.Event()
        self._aborted = False
        source.on_lost(self._doubt_all)

    async def attach(self, run_id: str, start: int) -> Viewer:
        """A viewer that hands out frames from `start` on. At the end of an ended run it has ended at once.

        Raises:
            TurnkeepError: `not_found`: no such log. `gone` with details {"first": …}: the log begins after `start`.
                `invalid` with details {"next": …}: `start` lies past the log's end. `unavailable`: the process stops, or
                (StoreUnavailable) the source does not answer.
        """
        if self._aborted:
            raise TurnkeepError("unavailable", "This process is stopping.")
        if self._tending is None or self._tending.done():
            self._tending = asyncio.create_task(self._tend_all())
        run = self._runs.get(run_id)
        if run is None:
            run = self._runs[run_id] = WatchedRun(run_id)
        run.joining += 1
        try:
            await self._subscribe(run)
            page = await self._locate(run, start)
        finally:
            run.joining -= 1
        viewer = Viewer(self._source, run, start, page)
        run.viewers.add(viewer)
        if run.doubt:
            self._fill_soon(run)
        return viewer

    def abort_all(self) -> None:
        """Make every viewer's `next` raise Aborted, and attach no more."""
        self._aborted = True
        for run in self._runs.values():
            run.judge("aborted")

    async def close(self) -> None:
        """End the hub's own tasks."""
        tasks = [*self._fills, *([self._tending] if self._tending else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def tend(self) -> None:
        """One round: gaps are filled, quiet runs read, runs that nobody watches dropped, stuck viewers woken."""
        due = self._due()
        for at in range(0, len(due), READS_AT_ONCE):
            if not all(await asyncio.gather(*map(self._look_after, due[at : at + READS_AT_ONCE]))):
                return  # the source does not answer; what is in doubt stays so until the next round
        for run in list(self._runs.values()):
            if run.stuck:
                run.stuck = False
                run.wake()

    async def _tend_all(self) -> None:
        """As long as there is anything to tend; who comes next begins anew."""
        while self._runs:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._round_seconds):
                    await self._at_once.wait()
            self._at_once.clear()
            await self.tend()

    def _due(self) -> list[WatchedRun]:
        due, quiet = [], []
        for run in self._runs.values():
            if run.doubt or not run.watched:
                due.append(run)
            elif run.ring is not None and not run.touched:
                run.ring.forget()  # thousands of idle runs need no frames in memory
                if run.final is None:
                    quiet.append(run)
            run.touched = False
        for run in quiet[:POLLS]:
            run.doubt = True
            self._runs[run.id] = self._runs.pop(run.id)
            due.append(run)
        return due

    async def _look_after(self, run: WatchedRun) -> bool:
        return await (self._fill(run) if run.watched else self._leave(run))

    async def _subscribe(self, run: WatchedRun) -> None:
        async with run.lock:
            if not run.subscribed:
                await self._source.subscribe(run.id, self._on_push)
                run.subscribed = True
                run.doubt = run.ring is not None

    async def _leave(self, run: WatchedRun) -> bool:
        async with run.lock:
            if run.subscribed and not run.watched:
                run.subscribed = False
                await self._source.unsubscribe(run.id)
            if not run.watched:  # somebody may have come while we waited
                self._runs.pop(run.id, None)
        return True

    async def _locate(self, run: WatchedRun, start: int) -> Page | None:
        """See that the log has `start`; the page that had to be read for it, if one had to."""
        if run.ring is not None and not run.missing and run.ring.start <= start <= run.ring.end:
            return None
        page = await self._source.read(run.id, start, PAGE_BYTES)
        if page is None:
            raise TurnkeepError("not_found", "There is no such run.")
        if run.ring is None:
            run.ring = Ring(page.next)
        if page.ended:
            run.end_at(page.next)
        run.found()
        run.doubt = run.doubt or page.next > run.ring.end
        if start < page.first:
            raise gone(page.first)
        end = max(page.next, run.ring.end)
        if start > end:
            raise TurnkeepError("invalid", "The run has not come that far.", details={"next": str(end)})
        return page if page.entries else None

    def _on_push(self, pushed: Pushed) -> None:
        run = self._runs.get(pushed.run_id)
        if run is None:
            return
        run.touched = True
        if run.add(pushed.end, pushed.count, pushed.payload):
            if pushed.ended:
                run.end_at(pushed.end)
            return
        run.doubt = True  # it overtook the first read, or pushes before it were lost
        if run.ring is not None:
            self._fill_soon(run)

    def _fill_soon(self, run: WatchedRun) -> None:
        if not run.filling:
            task = asyncio.create_task(self._fill(run))
            self._fills.add(task)
            task.add_done_callback(self._fills.discard)

    async def _fill(self, run: WatchedRun) -> bool:
        """Read the log from the ring's end while there is doubt. False where the source does not answer."""
        if run.filling or run.ring is None:
            return True  # who fills, or attaches, looks at the doubt again
        run.filling = True
        try:
            while run.doubt:
                run.doubt = False
                page = await self._source.read(run.id, run.ring.end, PAGE_BYTES)
                run.doubt = run.take(page) or run.doubt
        except StoreUnavailable:
            run.doubt = True
            return False
        finally:
            run.filling = False
        return True

    def _doubt_all(self) -> None:
        for run in self._runs.values():
            run.doubt = True
        self._at_once.set()
