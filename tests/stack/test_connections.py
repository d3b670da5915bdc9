"""What readers cost the API process: a socket each, and no connection to the store and no thread (FR33, LAW-P8)."""

import asyncio
from contextlib import AsyncExitStack

import psutil
import pytest

from tests.stack.embedded import Stack
from tests.stack.reading import asking, reading, visitor
from tests.stack.scripts import question

pytestmark = pytest.mark.timeout(120)

READERS = 60
TURNS = 3
FEW = 5  # what a part opens when it is needed for the first time


def held(process: psutil.Process) -> tuple[int, int]:
    """How many connections to the store it has, and how many threads."""
    return len(process.net_connections(kind="unix")), process.num_threads()


@pytest.mark.long
async def test_readers_add_no_connection_to_the_store_and_no_thread(scripted: Stack) -> None:
    api = scripted.parts("api")[0]
    async with visitor(scripted) as client, AsyncExitStack() as stack:
        turns = [
            await stack.enter_async_context(asking(client, question("talk"), conversation_id=f"crowd-{number}"))
            for number in range(TURNS)
        ]
        for turn in turns:
            await anext(aiter(turn))
        before = held(api)
        crowd = [
            await stack.enter_async_context(
                reading(client, "GET", f"/api/chat/{turns[number % TURNS].handle}/stream?startIndex=0")
            )
            for number in range(READERS)
        ]
        reads = [asyncio.create_task(reader.rest()) for reader in crowd]
        async with asking(client, question("short"), conversation_id="another") as another:
            await anext(aiter(another))
            stopped = await client.post(f"/api/chat/{another.handle}/stop")
            await another.rest()
        during = held(api)
        running = sum(not read.done() for read in reads)
        seen = [len(frames) for frames in await asyncio.gather(*reads)]

    assert max(now - then for now, then in zip(during, before, strict=True)) < FEW  # FR33
    assert (running, stopped.json()["success"], len(set(seen))) == (READERS, True, 1)
