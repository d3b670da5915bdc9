"""The hub over every source: viewers that come at any moment of a run see it whole."""

import asyncio

from checkpoints.port import Append
from frames.hub import Hub, Viewer
from tests.fakes.frame_source import frames
from tests.stores import World

FRAMES, VIEWERS = 300, 60
LONG = 3_600.0


async def drained(viewer: Viewer) -> bytes:
    chunks = []
    while not viewer.ended:
        chunks.append(await viewer.next(LONG) or b"")
    viewer.close()
    return b"".join(chunks)


async def test_viewers_that_come_while_a_run_goes_on_see_it_whole(world: World) -> None:
    """LAW-P2, FR04, FR08"""
    grip = (await world.running()).grip
    hub = Hub(world.source)
    seen: list[tuple[int, asyncio.Task[bytes]]] = []
    at = 0

    async def watch(start: int) -> bytes:
        return await drained(await hub.attach(grip.run_id, start))

    async def append(count: int) -> None:
        nonlocal at
        payload = frames("r", at, at + count)
        await world.store.append(grip, Append(start=at, count=count, payload=payload))
        at += count

    while at < FRAMES:
        if len(seen) * FRAMES <= at * VIEWERS:
            start = len(seen) * at // VIEWERS
            seen.append((start, asyncio.create_task(watch(start))))
        await append(1 + at % 3)
    await world.store.seal(grip, Append(start=at), b"seal", stop_seen=False)
    await world.store.finish(grip, Append(start=at, count=1, payload=frames("r", at, at + 1)), "completed", 60_000)
    assert [await task for _, task in seen] == [frames("r", start, at + 1) for start, _ in seen]
    late = await hub.attach(grip.run_id, at + 1)
    assert late.ended
    await hub.close()
