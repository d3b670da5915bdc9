"""Whatever happens between a log and its viewers, each sees the frames from its start on, each once, in order."""

import asyncio
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints.memory import MemoryRunStore
from checkpoints.port import Append, Claimed, ClaimRequest, Order
from frames.hub import Hub, Viewer
from protocol.errors import StoreUnavailable
from protocol.log import Pushed
from tests.fakes.frame_source import ScriptedSource, frames, turns
from tests.stores import ManualClock

LONG = 3_600.0
RUNS = ("a", "b")

STEPS = st.one_of(
    st.tuples(st.just("append"), st.sampled_from(RUNS), st.integers(1, 4)),
    st.tuples(st.just("attach"), st.sampled_from(RUNS), st.integers(0, 10)),  # tenths of the log
    st.tuples(st.just("deliver"), st.integers(0, 3), st.integers(1, 3)),  # which, and how often
    st.tuples(st.just("stray"), st.sampled_from(RUNS), st.integers(0, 20)),  # an old push comes again, packed otherwise
    st.tuples(st.just("drop"), st.integers(0, 3), st.just(0)),
    st.tuples(st.just("lose"), st.just(0), st.just(0)),
    st.tuples(st.just("tend"), st.just(0), st.just(0)),
    st.tuples(st.just("down"), st.just(0), st.just(0)),
    st.tuples(st.just("up"), st.just(0), st.just(0)),
    st.tuples(st.just("wait"), st.just(0), st.integers(1, 5)),
)
Step = tuple[str, str | int, int]


class Play:
    """One play of random steps over two runs and any number of viewers."""

    def __init__(self, delays: list[int]) -> None:
        self.source = ScriptedSource()
        self.source.delays = cycle(delays)
        self.hub = Hub(self.source, round_seconds=LONG)
        self.seen: list[tuple[str, int, asyncio.Task[bytes]]] = []
        for run_id in RUNS:
            self.source.append(run_id, 1)

    async def step(self, step: Step) -> None:
        kind, what, number = step
        match kind, what:
            case "append", str(run_id):
                self.source.append(run_id, number)
            case "attach", str(run_id):
                start = len(self.source.logs[run_id]) * number // 10
                self.seen.append((run_id, start, asyncio.create_task(self.watch(run_id, start))))
            case "stray", str(run_id):
                end = len(self.source.logs[run_id])
                start = min(number, end)
                self.source.deliver(Pushed(run_id, end, end - start, frames(run_id, start, end)))
            case "deliver", int(which):
                for pushed in self.source.pushes[which : which + 1] * number:
                    self.source.deliver(pushed)
                del self.source.pushes[which : which + 1]
            case "drop", int(which):
                del self.source.pushes[which : which + 1]
            case _:
                await self.weather(kind, number)

    async def weather(self, kind: str, number: int) -> None:
        if kind == "lose":
            self.source.lose()
        elif kind == "tend":
            await self.hub.tend()
        elif kind == "wait":
            await turns(number)
        else:
            self.source.down = kind == "down"

    async def watch(self, run_id: str, start: int) -> bytes:
        while True:
            try:
                return await drained(await self.hub.attach(run_id, start), next(self.source.delays))
            except StoreUnavailable:  # who comes while the source is away is refused and comes again
                await turns(1)

    async def end(self) -> list[bytes]:
        self.source.down = False
        await turns(20)
        for run_id in RUNS:
            self.source.append(run_id, 1, ended=True)
        self.source.pushes.clear()  # the safety poll alone finds the end
        while not all(task.done() for _, _, task in self.seen):
            await turns(1)  # a round that finds nothing to do gives way to nobody
            await self.hub.tend()
        return [task.result() for _, _, task in self.seen]


async def drained(viewer: Viewer, pause: int) -> bytes:
    """What a viewer hands out to a reader that takes `pause` turns to send it."""
    chunks = []
    while not viewer.ended:
        await turns(pause)
        chunks.append(await viewer.next(LONG) or b"")
    viewer.close()
    return b"".join(chunks)


@settings(max_examples=300)
@given(steps=st.lists(STEPS, max_size=60), delays=st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_every_viewer_sees_exactly_the_frames_from_its_start(steps: list[Step], delays: list[int]) -> None:
    """FR02, FR04, FR08, LAW-P2: pushes repeated, reordered, lost and repacked, the source away, viewers coming any time."""

    async def play() -> None:
        play = Play(delays)
        for step in steps:
            await play.step(step)
        seen = await play.end()
        lengths = {run_id: len(play.source.logs[run_id]) for run_id in RUNS}
        await play.hub.close()
        assert seen == [frames(run_id, start, lengths[run_id]) for run_id, start, _ in play.seen]

    with pytest.MonkeyPatch.context() as limits:  # so small that viewers fall behind the ring and pages are cut
        limits.setattr("frames.ring.RING_BYTES", 1_000)
        limits.setattr("frames.viewer.PAGE_BYTES", 300)
        limits.setattr("frames.hub.PAGE_BYTES", 300)
        asyncio.run(play())


@given(counts=st.lists(st.integers(1, 5), min_size=1, max_size=20), starts=st.lists(st.integers(0, 10), max_size=8))
def test_viewers_of_a_run_in_memory_see_it_whole(counts: list[int], starts: list[int]) -> None:
    """LAW-P2, FR04"""

    async def play() -> None:
        store = MemoryRunStore(ManualClock())
        hub = Hub(store, round_seconds=LONG)
        await store.open("a", b"request")
        claimed = await store.claim("a", ClaimRequest(order=Order(1, 0, 0), owner="o", mode="inline"))
        assert isinstance(claimed, Claimed)
        grip, next_index, seen = claimed.grip, 0, []

        def append(count: int) -> Append:
            return Append(start=next_index, count=count, payload=frames("a", next_index, next_index + count))

        for place, count in enumerate(counts):
            seen += [
                (start, asyncio.create_task(drained(await hub.attach("a", start), place % 2)))
                for start in starts[place :: len(counts)]
                if start <= next_index
            ]
            await store.append(grip, append(count))
            next_index += count
            await turns(place % 3)
        await store.seal(grip, append(0), b"seal", stop_seen=False)
        await store.finish(grip, append(1), "completed", 1_000)
        assert [await task for _, task in seen] == [frames("a", start, next_index + 1) for start, _ in seen]
        await hub.close()

    asyncio.run(play())
