"""The switch and the outage it is for: turns that run stay where they are, the next one follows (REQ-F2, REQ-F4)."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from uuid import NAMESPACE_OID, uuid5

import httpx2
import pytest

from tests.stack.embedded import Stack
from tests.stack.reading import FrameReader, asking, reading, visitor
from tests.stack.scripts import question

pytestmark = pytest.mark.timeout(120)

TURNS = 20
SEEN_SECONDS = 2.0


@dataclass
class Running:
    """A turn in progress, read to its end in the background."""

    answer: FrameReader
    body: dict[str, str]
    frames: list[bytes] = field(default_factory=list)
    under_way: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> list[bytes]:
        async for piece in self.answer:
            self.frames.append(piece)
            if b'"type":"text-delta"' in piece:
                self.under_way.set()
        assert self.answer.done
        return self.frames


@pytest.fixture
async def client(scripted: Stack) -> AsyncIterator[httpx2.AsyncClient]:
    async with visitor(scripted) as client:
        yield client


@pytest.fixture(autouse=True)
def _left_on(scripted: Stack) -> Iterator[None]:
    yield
    scripted.switch("on")


async def began(stack: AsyncExitStack, client: httpx2.AsyncClient, names: list[str]) -> list[Running]:
    """Turns of these names, all of them in the middle of their text."""
    turns = []
    for name in names:
        body = {"message": question("talk"), "conversation_id": name, "run_id": str(uuid5(NAMESPACE_OID, name))}
        turns.append(Running(await stack.enter_async_context(asking(client, **body)), body))
    return turns


async def status(client: httpx2.AsyncClient, handle: str) -> tuple[str, str, int]:
    """Status, transport and attempts of a run."""
    told = (await client.get(f"/api/runs/{handle}")).json()
    return told["status"], told["transport"], told["attempt"]


async def ask(client: httpx2.AsyncClient, name: str) -> str:
    """The transport that a short turn really took."""
    async with asking(client, question("short"), conversation_id=name) as answer:
        await answer.rest()
    ended, transport, attempts = await status(client, answer.handle)
    assert (ended, attempts) == ("completed", 1)
    return transport


async def flipped(stack: Stack, word: str) -> float:
    """Flip by command line. Seconds until the API has seen it."""
    await asyncio.to_thread(stack.command_line, "dispatch", word)
    begun = time.monotonic()
    await asyncio.to_thread(stack.until_dispatch, switch=word)
    return time.monotonic() - begun


@pytest.mark.long
async def test_turns_that_run_finish_where_they_are_while_the_switch_is_flipped_and_flipped_back(
    scripted: Stack, client: httpx2.AsyncClient
) -> None:
    """REQ-F2 FR80: twenty in flight, some of them resumed, stopped and asked for again under the other mode."""
    async with AsyncExitStack() as stack:
        durable = await began(stack, client, [f"durable-{number}" for number in range(TURNS)])
        reads = [asyncio.create_task(turn.read()) for turn in durable]
        await asyncio.gather(*(turn.under_way.wait() for turn in durable))

        assert await flipped(scripted, "off") <= SEEN_SECONDS
        inline = await began(stack, client, ["inline-1", "inline-2"])
        reads += [asyncio.create_task(turn.read()) for turn in inline]
        stopped = await client.post(f"/api/chat/{durable[0].answer.handle}/stop")
        async with reading(client, "GET", f"/api/chat/{durable[1].answer.handle}/stream?startIndex=3") as resumed:
            again = await stack.enter_async_context(asking(client, **durable[2].body))
            assert not any(read.done() for read in reads[1:])
            assert await flipped(scripted, "on") <= SEEN_SECONDS
            back = await ask(client, "back")
            rest, replayed = await resumed.rest(), await again.rest()
        await asyncio.gather(*reads)

    assert [turn.answer.transport for turn in (*durable, *inline)] == ["workflow"] * TURNS + ["inline"] * 2
    found = [await status(client, turn.answer.handle) for turn in (*durable, *inline)]
    wanted = [("completed", "workflow", 1)] * (TURNS - 1) + [("completed", "inline", 1)] * 2
    assert found == [("stopped", "workflow", 1), *wanted]
    assert (stopped.json()["success"], back, again.transport) == (True, "workflow", "workflow")
    assert (rest, replayed) == (durable[1].frames[3:], durable[2].frames)


async def test_the_switch_is_set_by_http_with_the_internal_token(scripted: Stack, client: httpx2.AsyncClient) -> None:
    """REQ-F2 FR80"""
    put = {"url": "/internal/dispatch", "json": {"switch": "off"}}
    refused = [
        (await client.put(**put)).status_code,  # type: ignore[arg-type] # one value for each keyword
        (await client.put(**put, headers={"authorization": "Bearer no"})).status_code,  # type: ignore[arg-type] # as above
        (await client.put("/internal/dispatch", json={"switch": "flase"}, headers=scripted.operator)).status_code,
    ]
    untouched = await ask(client, "untouched")
    scripted.switch("off")
    off = await ask(client, "off")
    scripted.switch("on")

    assert refused == [401, 401, 400]
    assert (untouched, off, await ask(client, "on")) == ("workflow", "inline", "workflow")


async def test_both_transports_give_the_same_bytes(scripted: Stack, client: httpx2.AsyncClient) -> None:
    """LAW-P4 C21 [L10]: on real processes; only the run's own names differ."""
    logs = []
    for name, word in (("first", "on"), ("other", "off")):
        scripted.switch(word)
        run_id = str(uuid5(NAMESPACE_OID, name))
        async with (
            visitor(scripted) as owner,
            asking(owner, question("mixed"), conversation_id=name, run_id=run_id) as answer,
        ):
            log = b"".join(await answer.rest()).decode()
        logs.append(log.replace(run_id, "RUN").replace(run_id.replace("-", ""), "RUN").replace(f'"{name}"', '"NAME"'))

    assert logs[0] == logs[1]


@pytest.mark.long
async def test_without_temporal_turns_run_inline_and_with_it_durably_again(
    scripted: Stack, client: httpx2.AsyncClient
) -> None:
    """REQ-F4: by itself. Frozen, it may take a start and not say so, which is then one execution all the same (FR13)."""
    temporal = scripted.parts("temporal")[0]
    async with AsyncExitStack() as stack:
        (running,) = await began(stack, client, ["running"])
        read = asyncio.create_task(running.read())
        await running.under_way.wait()
        temporal.suspend()
        try:
            async with asking(client, question("mixed"), conversation_id="frozen") as frozen:
                frames = await frozen.rest()
            await read
            await asyncio.to_thread(scripted.until_dispatch, breaker="open")
            while_open = await ask(client, "open")
        finally:
            temporal.resume()
    await asyncio.to_thread(scripted.until_dispatch, breaker="closed")

    assert await status(client, running.answer.handle) == ("completed", "workflow", 1)  # a running slice ends its turn
    assert (frozen.transport, while_open, await ask(client, "closed")) == ("workflow", "inline", "workflow")
    assert await status(client, frozen.handle) == ("completed", "inline", 1)
    async with reading(client, "GET", f"/api/chat/{frozen.handle}/stream") as after:
        assert await after.rest() == frames
    run_id = frozen.response.headers["x-chat-run-id"]
    assert scripted.notes(run_id) == [f"{run_id}:1.1"]  # LAW-P3


async def test_without_the_store_and_without_temporal_the_answer_still_arrives(
    scripted: Stack, client: httpx2.AsyncClient
) -> None:
    """FR80 REQ-F4 C6: in this process's memory, and without a handle to come back by."""
    away = [*scripted.parts("temporal"), *scripted.parts("valkey-server")]
    for part in away:
        part.suspend()
    try:
        async with asking(client, question("mixed"), conversation_id="bare") as answer:
            frames = await answer.rest()
    finally:
        for part in away:
            part.resume()

    assert (answer.transport, "x-workflow-run-id" in answer.response.headers) == ("inline", False)
    assert frames[-1].endswith(b'{"type":"finish","finishReason":"stop"}\n\n')
    await asyncio.to_thread(scripted.until_dispatch, breaker="closed")
    assert await ask(client, "whole") == "workflow"
