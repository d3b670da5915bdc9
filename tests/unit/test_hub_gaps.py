"""What a viewer misses, and how soon it gets it: without a round of upkeep where a message shows the gap, with one where none does."""

import asyncio
from collections.abc import AsyncIterator
from itertools import repeat

import pytest

from frames.hub import Hub, Viewer
from frames.ring import RING_BYTES
from protocol.errors import TurnkeepError
from protocol.log import Pushed
from tests.fakes.frame_source import ScriptedSource, frames, turns, until

LONG = 3_600.0  # longer than any test


@pytest.fixture
def source() -> ScriptedSource:
    source = ScriptedSource()
    source.append("r", 3)
    source.pushes.clear()
    return source


@pytest.fixture
async def hub(source: ScriptedSource) -> AsyncIterator[Hub]:
    hub = Hub(source, round_seconds=LONG)
    yield hub
    await hub.close()


async def at_end(hub: Hub) -> tuple[Viewer, asyncio.Task[bytes | None]]:
    """A viewer that has seen the first three frames and waits."""
    viewer = await hub.attach("r", 3)
    waiting = asyncio.create_task(viewer.next(LONG))
    await turns(1)
    return viewer, waiting


async def test_a_gap_is_filled_at_once(hub: Hub, source: ScriptedSource) -> None:
    _, waiting = await at_end(hub)
    source.append("r", 2)
    source.append("r", 1)
    source.deliver(source.pushes[1])
    assert await waiting == frames("r", 3, 6)


async def test_a_gap_of_many_pages_is_filled_at_once(hub: Hub, source: ScriptedSource) -> None:
    viewer, waiting = await at_end(hub)
    for _ in range(40):
        source.append("r", 100)
    source.deliver(source.pushes[-1])
    chunks = [await waiting or b""]
    while viewer.index < 4_003:
        chunks.append(await viewer.next(LONG) or b"")
    assert b"".join(chunks) == frames("r", 3, 4_003)


async def test_a_gap_that_shows_while_another_is_filled_is_filled_too(hub: Hub, source: ScriptedSource) -> None:
    viewer, waiting = await at_end(hub)
    source.delays = repeat(5)
    pages = source.calls["page"]
    source.append("r", 1)
    source.append("r", 1)
    source.deliver(source.pushes[1])
    await until(lambda: source.calls["page"] > pages)
    source.append("r", 1)
    source.append("r", 1)
    source.deliver(source.pushes[3])
    chunk = await waiting or b""
    while viewer.index < 7:
        chunk += await viewer.next(LONG) or b""
    assert chunk == frames("r", 3, 7)


async def test_repeats_and_overlaps_are_cut_by_index(hub: Hub, source: ScriptedSource) -> None:
    """FR08: what is told apart by its index may look the same."""
    viewer, waiting = await at_end(hub)
    for start, end in ((0, 3), (1, 2), (0, 5), (2, 5), (4, 7)):
        source.deliver(Pushed("r", end, end - start, frames("r", start, end)))
    assert (await waiting, viewer.index) == (frames("r", 3, 7), 7)


async def test_a_push_that_overtakes_the_first_read_is_not_lost(hub: Hub, source: ScriptedSource) -> None:
    source.delays = repeat(3)
    coming = asyncio.create_task(hub.attach("r", 0))
    await until(lambda: source.calls["page"] == 1)
    source.append("r", 2)
    source.deliver_all()
    viewer = await coming
    assert [await viewer.next(LONG), await viewer.next(LONG)] == [frames("r", 0, 3), frames("r", 3, 5)]


async def test_an_append_between_subscribe_and_read_is_seen_once(hub: Hub, source: ScriptedSource) -> None:
    source.delays = repeat(3)
    coming = asyncio.create_task(hub.attach("r", 0))
    await until(lambda: "r" in source.listeners)
    source.append("r", 1)
    source.deliver_all()
    viewer = await coming
    assert await viewer.next(LONG) == frames("r", 0, 4)
    source.append("r", 1)
    source.deliver_all()
    assert await viewer.next(LONG) == frames("r", 4, 5)


async def test_a_viewer_ahead_shows_the_others_their_gap(hub: Hub, source: ScriptedSource) -> None:
    _, waiting = await at_end(hub)
    source.append("r", 2)  # its push is lost, another process showed the frames
    await hub.attach("r", 5)
    assert await waiting == frames("r", 3, 5)


async def test_a_push_lost_without_a_trace_is_found_by_a_round(hub: Hub, source: ScriptedSource) -> None:
    _, waiting = await at_end(hub)
    source.append("r", 2, ended=True)
    await hub.tend()
    assert await waiting == frames("r", 3, 5)


async def test_a_loss_that_is_told_is_filled_at_once(hub: Hub, source: ScriptedSource) -> None:
    """F1"""
    _, waiting = await at_end(hub)
    source.append("r", 2)
    source.lose()
    assert await waiting == frames("r", 3, 5)


async def test_a_viewer_that_comes_while_the_run_is_left_misses_nothing(hub: Hub, source: ScriptedSource) -> None:
    (await hub.attach("r", 3)).close()
    source.delays = repeat(5)
    leaving = asyncio.create_task(hub.tend())
    await until(lambda: source.calls["unsubscribe"] == 1)
    coming = asyncio.create_task(hub.attach("r", 3))
    source.append("r", 2)
    await leaving
    source.deliver_all()  # nobody listens: one has left, the other not yet come
    viewer = await coming
    assert await viewer.next(LONG) == frames("r", 3, 5)
    source.append("r", 1)
    source.deliver_all()
    assert await viewer.next(LONG) == frames("r", 5, 6)


async def test_a_doubt_outlasts_a_source_that_is_away(hub: Hub, source: ScriptedSource) -> None:
    """FR18"""
    _, waiting = await at_end(hub)
    source.append("r", 2, ended=True)
    source.delays = repeat(5)
    await hub.attach("r", 5)  # knows the end now, and that the ring lacks two frames
    source.down = True
    await turns(20)
    await hub.tend()
    assert not waiting.done()
    source.down = False
    await hub.tend()
    assert await waiting == frames("r", 3, 5)


async def test_a_viewer_behind_the_ring_waits_for_a_source_that_is_away(hub: Hub, source: ScriptedSource) -> None:
    """FR18"""
    viewer = await hub.attach("r", 0)
    await viewer.next(LONG)
    source.append("r", RING_BYTES // 50)
    source.deliver_all()
    source.append("r", 1)
    source.deliver_all()
    source.down = True
    waiting = asyncio.create_task(viewer.next(LONG))
    await turns(5)
    await hub.tend()
    assert not waiting.done()
    source.down = False
    await hub.tend()
    chunk = await waiting or b""
    while viewer.index < len(source.logs["r"]):
        chunk += await viewer.next(LONG) or b""
    assert chunk == frames("r", 3, viewer.index)


async def test_a_viewer_behind_what_is_kept_is_told(hub: Hub, source: ScriptedSource) -> None:
    viewer = await hub.attach("r", 3)
    await (await hub.attach("r", 3)).next(0)
    for _ in range(3):
        source.append("r", RING_BYTES // 100)
    source.deliver_all()
    source.first = len(source.logs["r"]) - 1
    with pytest.raises(TurnkeepError) as caught:
        await viewer.next(LONG)
    assert (caught.value.kind, caught.value.details) == ("gone", {"first": str(source.first)})


async def test_a_log_cut_off_before_it_was_read_is_gone(hub: Hub, source: ScriptedSource) -> None:
    _, waiting = await at_end(hub)
    source.append("r", 3)
    source.append("r", 1)
    source.first = 6
    await hub.tend()
    with pytest.raises(TurnkeepError) as caught:
        await waiting
    assert (caught.value.kind, caught.value.details) == ("gone", {"first": "6"})


async def test_a_log_that_went_back_is_waited_for(hub: Hub, source: ScriptedSource) -> None:
    """C9: its writer pushes again what was lost; a viewer sees neither a repeat nor a gap."""
    viewer, waiting = await at_end(hub)
    source.logs["r"], source.packing["r"] = source.logs["r"][:1], [1]
    await hub.tend()
    source.append("r", 2)
    source.append("r", 1, ended=True)
    source.deliver_all()
    assert (await waiting, viewer.ended) == (frames("r", 3, 4), True)


async def test_a_viewer_behind_the_ring_waits_for_a_log_that_went_back(hub: Hub, source: ScriptedSource) -> None:
    """C9"""
    viewer = await hub.attach("r", 3)
    log, packing = source.logs["r"], source.packing["r"]
    source.append("r", 3)
    source.deliver_all()
    await hub.tend()
    await hub.tend()  # a quiet run keeps no frames in memory
    source.logs["r"], source.packing["r"] = log[:3], packing[:1]
    waiting = asyncio.create_task(viewer.next(LONG))
    await turns(5)
    assert not waiting.done()
    late = await hub.attach("r", 5)
    source.append("r", 3)
    await hub.tend()
    assert await waiting == frames("r", 3, 6)
    assert await late.next(LONG) == frames("r", 5, 6)


async def test_only_some_quiet_runs_are_read_in_a_round(
    hub: Hub, source: ScriptedSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frames.hub.POLLS", 2)
    waiting = []
    for run_id in "abcde":
        source.append(run_id, 1)
        waiting.append(asyncio.create_task((await hub.attach(run_id, 1)).next(LONG)))
        source.append(run_id, 1)
    source.pushes.clear()
    done = []
    for _ in range(3):
        await hub.tend()
        await turns(1)
        done.append(sum(task.done() for task in waiting))
    assert done == [2, 4, 5]
