"""What is over leaves nothing behind: counted in objects, not in bytes or time."""

import asyncio
import gc
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from app.process import calm_garbage_collector
from checkpoints.memory import MemoryRunStore
from checkpoints.port import Append, ClaimRequest, Order
from frames.hub import Hub, Viewer
from frames.ring import Ring
from frames.viewer import WatchedRun
from records.records import Records
from runner.drive import Drive
from runner.kept import Kept
from runner.writer import FrameWriter
from tests.fakes.frame_source import turns, until
from tests.rig import Rig, StillClock
from tests.unit.test_turn_limits import loop

RUNS = 20
OF_A_TURN = (Drive, FrameWriter, Kept, WatchedRun, Viewer, Ring)


Left = Callable[[], list[object]]


@pytest.fixture
def left() -> Iterator[Left]:
    """What of a turn is there that was not there before, without a garbage collection until the end of the test."""

    def alive() -> list[object]:
        return [one for one in gc.get_objects() if isinstance(one, OF_A_TURN)]

    gc.collect()
    before = alive()  # of other tests, whoever holds it
    gc.disable()
    yield lambda: [one for one in alive() if not any(one is other for other in before)]
    gc.enable()


async def test_a_turn_that_is_over_is_gone_without_a_garbage_collection(left: Left) -> None:
    """LAW-P7"""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await rig.begin("Go.")

        await rig.run(loop(calls=2))
        await turns(3)  # for what was cancelled to let go

        assert left() == []


async def test_runs_that_have_ended_leave_nothing_in_the_hub(left: Left) -> None:
    """LAW-P8"""
    store = MemoryRunStore(StillClock())
    hub = Hub(store, round_seconds=0)

    async def read(run_id: str) -> None:
        viewer = await hub.attach(run_id, 0)
        while not viewer.ended:
            await viewer.next(3_600)
        viewer.close()

    for number in range(RUNS):
        run_id = f"run-{number}"
        await store.open(run_id, b"{}")
        readers = [asyncio.create_task(read(run_id)) for _ in range(2)]
        await _end(store, run_id)
        await asyncio.gather(*readers)
    await until(lambda: len(asyncio.all_tasks()) == 1)  # this one

    assert left() == []


async def _end(store: MemoryRunStore, run_id: str) -> None:
    claimed = await store.claim(run_id, ClaimRequest(order=Order(1, 0, 1), owner="one", mode="inline"))
    grip = claimed.grip  # type: ignore[union-attr] # nobody else has it
    await store.seal(grip, Append(start=0, count=1, payload=b"id: 0\ndata: {}\n\n"), b"seal", stop_seen=False)
    await store.finish(grip, Append(start=1), "completed", 60_000)


class Knot:
    """Holds itself, as what a workflow leaves does."""

    alive = 0

    def __init__(self) -> None:
        Knot.alive += 1
        self.itself = self

    def __del__(self) -> None:
        Knot.alive -= 1


@pytest.fixture
def calm() -> Iterator[None]:
    """The garbage collector as in a process of ours."""
    before = gc.get_threshold()
    calm_garbage_collector()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
    gc.collect()


@pytest.mark.usefixtures("calm")
def test_what_dies_in_cycles_does_not_pile_up() -> None:
    most = 0
    for _ in range(60_000):
        Knot()
        most = max(most, Knot.alive)

    assert most < 2_000  # the youngest are collected; older ones are below

    held: list[Knot] = []
    most = 0
    for _ in range(200_000):  # each lives while two thousand others are made, so that collections find it alive
        held.append(Knot())
        if len(held) == 2_000:
            held.clear()
        most = max(most, Knot.alive)

    assert most < 30_000


HEAPS = """
import ctypes, threading
from app.process import share_free_memory

share_free_memory()
met = threading.Barrier(8)
threads = [threading.Thread(target=lambda: (bytes(10_000), met.wait())) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
ctypes.CDLL(None).malloc_stats()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other heaps")
def test_threads_share_two_heaps() -> None:
    told = subprocess.run([sys.executable, "-c", HEAPS], check=True, capture_output=True, text=True).stderr

    assert told.count("Arena ") == 2
