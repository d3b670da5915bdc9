"""Workers replaced one after the other, again and again, while people are answered."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.stack.embedded import Stack, running_stack
from tests.stack.reading import asking, reading, visitor
from tests.stack.scripts import question, write_scripts

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

RESTARTS = 20
PEOPLE = ("mixed", "talk", "mixed", "short", "talk", "mixed", "short", "talk")


async def conversation(client: httpx2.AsyncClient, name: str, over: asyncio.Event) -> AsyncIterator[str]:
    """One turn after the other until it is over. The run of each, once it was answered whole."""
    while not over.is_set():
        async with asking(client, question(name)) as answer:
            frames = await answer.rest()
        assert b'"finishReason":"stop"' in frames[-1], frames[-3:]
        async with reading(client, "GET", f"/api/chat/{answer.handle}/stream?startIndex=0") as again:
            assert await again.rest() == frames
        yield answer.response.headers["x-chat-run-id"]


async def restarts(stack: Stack, over: asyncio.Event) -> None:
    """Replace the workers in turn; each must leave in good order and the next be ready."""
    ready = 1
    for number in range(RESTARTS):
        workers = sorted(stack.parts("worker"), key=lambda process: process.create_time())
        workers[0].terminate()
        await asyncio.to_thread(stack.says, "ended with code 0", number + 1)
        ready += 1
        name = "worker-1" if number % 2 == 0 else "worker-2"
        await asyncio.to_thread(stack.says, f"{name} is ready", 2 + number // 2)
    over.set()


async def test_nothing_is_lost_over_many_restarts(tmp_path: Path) -> None:
    """REQ-D6 FR16 LAW-P1 LAW-P3: every answer is whole, and no effect happens twice."""
    (tmp_path / "scripts").mkdir()
    write_scripts(tmp_path / "scripts")
    over, answered = asyncio.Event(), list[str]()
    with running_stack(tmp_path / "state", TURNKEEP_SCRIPTS=str(tmp_path / "scripts")) as stack:

        async def person(name: str) -> None:
            async with visitor(stack) as client:
                async for run_id in conversation(client, name, over):
                    answered.append(run_id)

        async with asyncio.TaskGroup() as together:
            for name in PEOPLE:
                together.create_task(person(name))
            together.create_task(restarts(stack, over))

        assert "was killed" not in stack.output
        notes = Counter(note for run_id in answered for note in stack.notes(run_id))
        assert max(notes.values()) == 1
        assert len(answered) >= len(PEOPLE)
