"""What readers cost the server of the logs: nothing beyond what their process has already (FR33, LAW-P8)."""

import asyncio

from frames.hub import Hub
from frames.viewer import Viewer
from resp.client import Client
from resp.keys import Keys
from tests.servers import Server
from tests.stores import client_at, frames, world_at

RUNS, FRAMES = 5, 40
READERS = (1, 50, 300)  # all of them together, over the runs in turn


async def connections_of(observer: Client) -> tuple[int, bytes]:
    """How many the server has, and how many of them wait in a blocking command."""
    listed = (await observer.execute("CLIENT", "LIST")).splitlines()
    told = (await observer.execute("INFO", "clients")).splitlines()
    return len(listed), next(line for line in told if line.startswith(b"blocked_clients:"))


async def drained(viewer: Viewer) -> int:
    """How many bytes a viewer hands out before the end."""
    size = 0
    while not viewer.ended:
        size += len(await viewer.next(60) or b"")
    viewer.close()
    return size


async def test_connections_do_not_grow_with_readers_and_none_of_them_blocks(valkey: Server, keys: Keys) -> None:
    async with client_at(valkey.address) as observer, world_at(valkey.address, keys) as world:
        hub = Hub(world.source)
        grips = [(await world.running()).grip for _ in range(RUNS)]
        reading: list[asyncio.Task[int]] = []
        seen = []
        for stage, most in enumerate(READERS):
            while len(reading) < most:
                viewer = await hub.attach(grips[len(reading) % RUNS].run_id, 0)
                reading.append(asyncio.create_task(drained(viewer)))
            for number in range(stage * FRAMES, (stage + 1) * FRAMES):
                await asyncio.gather(*(world.store.append(grip, frames(number, b"frame\n\n")) for grip in grips))
            seen.append(await connections_of(observer))
        end = len(READERS) * FRAMES
        for grip in grips:
            await world.store.seal(grip, frames(end), b"seal", stop_seen=False)
            await world.store.finish(grip, frames(end, b"end\n\n"), "completed", 60_000)
        sizes = await asyncio.gather(*reading)
        await hub.close()

    assert seen == [(seen[0][0], b"blocked_clients:0")] * len(READERS)  # FR33
    assert set(sizes) == {end * len(b"frame\n\n") + len(b"end\n\n")}
