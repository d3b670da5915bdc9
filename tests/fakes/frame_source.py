"""A source of frames whose every push, delay and failure a test decides."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import repeat

from frames import sse
from frames.port import Listener
from protocol.errors import StoreUnavailable
from protocol.log import Entry, Page, Pushed


async def turns(count: int) -> None:
    """Let everything else in the loop go first, `count` times."""
    for _ in range(count):
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, None)
        await future


async def until(condition: Callable[[], bool]) -> None:
    """Let everything else in the loop go on until it has come to this."""
    while not condition():
        await turns(1)


class ScriptedSource:
    """Logs in memory. Pushes wait in `pushes` until the test delivers them; `delays` says how long each call takes."""

    def __init__(self) -> None:
        self.logs: dict[str, list[bytes]] = {}
        self.packing: dict[str, list[int]] = {}  # ends of entries
        self.first = 0
        self.ended: set[str] = set()
        self.listeners: dict[str, Listener] = {}
        self.pushes: list[Pushed] = []
        self.calls: Counter[str] = Counter()
        self.down = False
        self.delays: Iterator[int] = repeat(1)
        self.lost: list[Callable[[], None]] = []

    def append(self, run_id: str, count: int, *, ended: bool = False) -> None:
        """Put `count` frames into the log as one entry, and their push into `pushes`."""
        log, ends = self.logs.setdefault(run_id, []), self.packing.setdefault(run_id, [])
        frames = [frame(run_id, index) for index in range(len(log), len(log) + count)]
        log.extend(frames)
        if count:
            ends.append(len(log))
        if ended:
            self.ended.add(run_id)
        self.pushes.append(Pushed(run_id, len(log), count, b"".join(frames), ended))

    def deliver(self, pushed: Pushed) -> None:
        """Hand a push to whoever listens to its run."""
        if listener := self.listeners.get(pushed.run_id):
            listener(pushed)

    def deliver_all(self) -> None:
        while self.pushes:
            self.deliver(self.pushes.pop(0))

    def lose(self) -> None:
        """The pushes on their way are lost and everybody is told so (F1)."""
        self.pushes.clear()
        for callback in self.lost:
            callback()

    async def subscribe(self, run_id: str, listener: Listener) -> None:
        await self._answer("subscribe")
        self.listeners[run_id] = listener

    async def unsubscribe(self, run_id: str) -> None:
        self.calls["unsubscribe"] += 1
        self.listeners.pop(run_id, None)
        await turns(next(self.delays))

    def on_lost(self, callback: Callable[[], None]) -> None:
        self.lost.append(callback)

    async def read(self, run_id: str, start: int, max_bytes: int) -> Page | None:
        await self._answer("read")
        log = self.logs.get(run_id)
        if log is None:
            return None
        entries: list[Entry] = []
        begin, room = 0, max_bytes
        for end in self.packing[run_id]:
            if end > max(start, self.first) and (room > 0 or not entries):
                payload = b"".join(log[begin:end])
                entries.append(Entry(end, end - begin, payload))
                room -= len(payload)
            begin = end
        page = Page(entries=tuple(entries), next=len(log), first=self.first, ended=run_id in self.ended)
        self.calls["page"] += 1
        await turns(next(self.delays))  # the page is on its way, and may be old when it arrives
        return page

    async def _answer(self, call: str) -> None:
        self.calls[call] += 1
        await turns(next(self.delays))
        if self.down:
            raise StoreUnavailable


def frame(run_id: str, index: int, size: int = 0) -> bytes:
    """The frame at this index of the run, recognisable, with repeated content as a model would send it (FR08)."""
    text = ("ha", "ha", " ", " ", "\n", "\n", f"{run_id} ")[index % 7]
    return sse.encode(index, {"type": "text-delta", "id": "t1", "delta": text + "x" * size})


def frames(run_id: str, start: int, end: int) -> bytes:
    """The frames from `start` to `end`, as a reader gets them."""
    return b"".join(frame(run_id, index) for index in range(start, end))
