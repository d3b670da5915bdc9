import asyncio
from collections.abc import AsyncIterator

import pytest

from frames.hub import Aborted, Hub, Viewer
from frames.viewer import MISSING_READS
from protocol.errors import StoreUnavailable, TurnkeepError
from tests.fakes.frame_source import ScriptedSource, frames, turns

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


async def read_to_end(viewer: Viewer) -> bytes:
    chunks = []
    while not viewer.ended:
        chunks.append(await viewer.next(LONG) or b"")
    viewer.close()
    return b"".join(chunks)


async def refused(hub: Hub, run_id: str, start: int) -> tuple[str, dict[str, str]]:
    with pytest.raises(TurnkeepError) as caught:
        await hub.attach(run_id, start)
    return caught.value.kind, caught.value.details


async def test_a_viewer_gets_the_log_and_then_what_is_pushed(hub: Hub, source: ScriptedSource) -> None:
    viewer = await hub.attach("r", 1)
    assert await viewer.next(LONG) == frames("r", 1, 3)
    waiting = asyncio.create_task(viewer.next(LONG))
    await turns(1)
    source.append("r", 2)
    source.deliver_all()
    assert await waiting == frames("r", 3, 5)
    assert (viewer.index, viewer.ended) == (5, False)


async def test_a_start_that_the_log_has_not_is_refused(hub: Hub, source: ScriptedSource) -> None:
    """FR05"""
    assert await refused(hub, "none", 0) == ("not_found", {})
    assert await refused(hub, "r", 4) == ("invalid", {"next": "3"})
    source.first = 2
    assert await refused(hub, "r", 1) == ("gone", {"first": "2"})
    await hub.attach("r", 3)
    assert await refused(hub, "r", 4) == ("invalid", {"next": "3"})
    assert await refused(hub, "r", 1) == ("gone", {"first": "2"})


async def test_a_start_ahead_of_the_pushes_is_read(hub: Hub, source: ScriptedSource) -> None:
    await hub.attach("r", 0)
    source.append("r", 2)  # another process shows it already, our push is on its way
    viewer = await hub.attach("r", 5)
    source.append("r", 1, ended=True)
    source.deliver_all()
    assert await read_to_end(viewer) == frames("r", 5, 6)


async def test_what_was_read_on_the_way_in_is_not_handed_out_later(hub: Hub, source: ScriptedSource) -> None:
    await hub.attach("r", 3)
    source.append("r", 2)
    viewer = await hub.attach("r", 4)  # ahead of the ring, so its first frame was read
    source.append("r", 1)
    source.deliver_all()  # and now the ring has it, and more
    assert await viewer.next(LONG) == frames("r", 4, 6)
    assert (await viewer.next(0), viewer.index) == (None, 6)


@pytest.mark.parametrize("start", [0, 2, 3])
async def test_an_ended_run_is_read_to_its_end(hub: Hub, source: ScriptedSource, start: int) -> None:
    """FR05, FR06"""
    source.append("r", 0, ended=True)
    viewer = await hub.attach("r", start)
    assert viewer.ended == (start == 3)
    assert await read_to_end(viewer) == frames("r", start, 3)
    assert (viewer.ended, await viewer.next(LONG)) == (True, None)


async def test_an_end_that_comes_alone_ends_a_wait(hub: Hub, source: ScriptedSource) -> None:
    viewer = await hub.attach("r", 3)
    waiting = asyncio.create_task(viewer.next(LONG))
    await turns(1)
    source.append("r", 0, ended=True)
    source.deliver_all()
    assert (await waiting, viewer.ended) == (None, True)


async def test_nothing_for_a_while_is_none_and_nothing_is_lost(hub: Hub, source: ScriptedSource) -> None:
    """FR33, FR56: an idle wait gives heartbeats, not errors."""
    viewer = await hub.attach("r", 3)
    assert [await viewer.next(0), await viewer.next(0.001)] == [None, None]
    waiting = asyncio.create_task(viewer.next(LONG))
    await turns(1)
    assert not waiting.done()
    source.append("r", 1, ended=True)
    source.deliver_all()
    assert await waiting == frames("r", 3, 4)


async def test_a_short_wait_after_a_long_one_is_short(hub: Hub, source: ScriptedSource) -> None:
    viewer = await hub.attach("r", 3)
    waiting = asyncio.create_task(viewer.next(LONG))
    await turns(1)
    source.append("r", 1)
    source.deliver_all()
    await waiting
    assert await viewer.next(0.001) is None


async def test_a_long_wait_after_a_short_one_is_long(hub: Hub, source: ScriptedSource) -> None:
    viewer, other = await hub.attach("r", 3), await hub.attach("r", 3)
    waiting = asyncio.create_task(viewer.next(0.001))
    await turns(1)
    source.append("r", 1)
    source.deliver_all()
    await waiting
    waiting = asyncio.create_task(viewer.next(LONG))
    await other.next(LONG)
    assert await other.next(0.002) is None  # so the first wait's time is over
    assert not waiting.done()
    source.append("r", 1)
    source.deliver_all()
    await waiting
    assert await other.next(0) is not None


async def test_a_timer_that_finds_nobody_waiting_is_harmless(hub: Hub, source: ScriptedSource) -> None:
    viewer, other = await hub.attach("r", 3), await hub.attach("r", 3)
    waiting = asyncio.create_task(viewer.next(0.001))
    await turns(1)
    source.append("r", 1)
    source.deliver_all()
    await waiting
    await other.next(LONG)
    assert [await other.next(0.002), await viewer.next(0.001)] == [None, None]


async def test_an_ended_run_is_not_read_again(hub: Hub, source: ScriptedSource) -> None:
    source.append("r", 0, ended=True)
    await hub.attach("r", 0)
    reads = source.calls["read"]
    await hub.tend()
    assert source.calls["read"] == reads


async def test_a_cancelled_wait_loses_nothing(hub: Hub, source: ScriptedSource) -> None:
    viewer = await hub.attach("r", 0)
    for _ in range(3):
        waiting = asyncio.create_task(viewer.next(LONG))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert await viewer.next(LONG) == frames("r", 0, 3)


async def test_all_viewers_of_a_run_share_one_subscription(hub: Hub, source: ScriptedSource) -> None:
    """FR33"""
    viewers = await asyncio.gather(*(hub.attach("r", 3) for _ in range(50)))
    assert source.calls["subscribe"] == 1
    reading = [asyncio.create_task(viewer.next(LONG)) for viewer in viewers]
    await turns(1)
    source.append("r", 2)
    source.deliver_all()
    assert set(await asyncio.gather(*reading)) == {frames("r", 3, 5)}


async def test_the_run_is_left_when_its_last_viewer_leaves(hub: Hub, source: ScriptedSource) -> None:
    first, second = await hub.attach("r", 0), await hub.attach("r", 0)
    first.close()
    await hub.tend()
    assert "r" in source.listeners
    second.close()
    second.close()
    listener = source.listeners["r"]
    await hub.tend()
    assert source.listeners == {}
    source.append("r", 1)
    listener(source.pushes[0])  # it was on its way when we left


async def test_a_stopping_process_aborts_every_viewer(hub: Hub, source: ScriptedSource) -> None:
    viewer = await hub.attach("r", 3)
    waiting = asyncio.create_task(viewer.next(LONG))
    await turns(1)
    hub.abort_all()
    with pytest.raises(Aborted):
        await waiting
    source.logs.clear()
    for _ in range(MISSING_READS):
        await hub.tend()
    with pytest.raises(Aborted):  # whatever else is to be said of the run
        await viewer.next(LONG)
    assert await refused(hub, "r", 0) == ("unavailable", {})


async def test_a_source_that_is_away_refuses_who_comes_and_keeps_who_is_here(hub: Hub, source: ScriptedSource) -> None:
    """FR18"""
    viewer = await hub.attach("r", 0)
    source.down = True
    with pytest.raises(StoreUnavailable):
        await hub.attach("other", 0)
    assert await viewer.next(LONG) == frames("r", 0, 3)
    source.append("r", 2)
    source.lose()
    await hub.tend()
    assert await viewer.next(0) is None
    source.down = False
    await hub.tend()
    assert await viewer.next(LONG) == frames("r", 3, 5)


async def test_a_log_that_stays_missing_is_gone(hub: Hub, source: ScriptedSource) -> None:
    """FR06"""
    viewer = await hub.attach("r", 3)
    log = source.logs["r"]
    for _ in range(2):  # not seen for a while is not missing
        source.logs["r"] = log
        await hub.tend()
        del source.logs["r"]
        for _ in range(MISSING_READS - 1):
            await hub.tend()
        assert await viewer.next(0) is None
    await hub.tend()
    with pytest.raises(TurnkeepError, match="not kept"):
        await viewer.next(LONG)
    assert await refused(hub, "r", 3) == ("not_found", {})
    source.logs["r"] = log
    assert await (await hub.attach("r", 2)).next(LONG) == frames("r", 2, 3)
