"""Coming back at every frame of a run: in each way there is, on both transports, while it runs and after (FR04)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import pytest

from tests.stack.embedded import Stack
from tests.stack.reading import FrameReader, asking, reading, visitor
from tests.stack.scripts import MARKER, question

pytestmark = pytest.mark.timeout(120)

TRANSPORTS: Final = ("workflow", "inline")


@dataclass(frozen=True, slots=True)
class Back:
    """What somebody holds who comes back."""

    handle: str
    run_id: str
    token: str

    def by_index(self, index: int) -> dict[str, Any]:
        return {"url": f"/api/chat/{self.handle}/stream", "params": {"startIndex": index}}

    def by_event_id(self, index: int) -> dict[str, Any]:
        """What an EventSource sends: the id of the last event, nothing before the first one."""
        headers = {"last-event-id": str(index - 1)} if index else {}
        return {"url": f"/api/chat/{self.handle}/stream", "headers": headers}

    def by_token(self, index: int) -> dict[str, Any]:
        headers = {"x-chat-resume-token": self.token}
        return {"url": "/api/chat/stream", "params": {"runId": self.run_id, "startIndex": index}, "headers": headers}

    @property
    def ways(self) -> tuple[Callable[[int], dict[str, Any]], ...]:
        return (self.by_index, self.by_event_id, self.by_token)


def back_to(answer: FrameReader) -> Back:
    headers = answer.response.headers
    return Back(answer.handle, headers["x-chat-run-id"], headers["x-chat-resume-token"])


async def read(client: httpx2.AsyncClient, request: dict[str, Any]) -> tuple[list[bytes], int]:
    """All frames from there on, and how many comments came between."""
    async with reading(client, "GET", **request) as reader:
        return await reader.rest(), reader.comments


@pytest.fixture(params=TRANSPORTS)
async def client(scripted: Stack, request: pytest.FixtureRequest) -> AsyncIterator[httpx2.AsyncClient]:
    """Somebody whose turns run on this transport."""
    scripted.switch("on" if request.param == "workflow" else "off")
    async with visitor(scripted) as client:
        yield client
    scripted.switch("on")


async def test_frames_before_an_index_and_the_stream_from_it_are_the_log_while_it_grows_and_after(
    client: httpx2.AsyncClient, request: pytest.FixtureRequest
) -> None:
    whole: list[bytes] = []
    live: list[asyncio.Task[tuple[list[bytes], int]]] = []
    async with asking(client, question("mixed")) as answer:
        back = back_to(answer)
        live += [asyncio.create_task(read(client, way(0))) for way in back.ways]
        async for piece in answer:
            whole.append(piece)
            if not piece.startswith(b"id: %d\nevent: finish\n" % (len(whole) - 1)):
                live += [asyncio.create_task(read(client, way(len(whole)))) for way in back.ways]
        assert (answer.transport, answer.done) == (request.node.callspec.params["client"], True)
    rest_live = await asyncio.gather(*live)
    rest_after = [await read(client, way(index)) for index in range(len(whole)) for way in back.ways]

    kinds = {piece.split(b"\n")[1].removeprefix(b"event: ").decode() for piece in whole}
    assert {
        "text-delta",
        "reasoning-delta",
        "tool-output-available",
        "tool-output-error",
        "data-tool-progress",
    } <= kinds
    wanted = [whole[index:] for index in range(len(whole)) for _ in back.ways]
    assert [frames for frames, _ in rest_live] == wanted  # [R1] [R2] [L1] FR04 REQ-E3
    assert [frames for frames, _ in rest_after] == wanted
    assert max(comments for _, comments in rest_live) > 1  # heartbeats came between, and took no index: [F6]


async def test_past_the_end_there_is_nothing_to_wait_for(client: httpx2.AsyncClient) -> None:
    async with asking(client, question("mixed")) as answer:
        back, end = back_to(answer), len(await answer.rest())
    found = [await client.get(**way(end)) for way in back.ways]

    assert [one.status_code for one in found] == [400, 204, 400]  # [R2] [R5] FR05
    assert [one.json()["error"]["next"] for one in found if one.content] == [str(end), str(end)]


async def test_no_log_line_has_what_opens_a_run_nor_what_was_said(scripted: Stack) -> None:
    async with visitor(scripted) as client:
        async with asking(client, question("mixed")) as answer:
            back = back_to(answer)
            await answer.rest()
        for way in back.ways:
            await read(client, way(3))
        await client.get(f"/api/runs/{back.handle}")
        session = client.cookies["turnkeep_session"]

    assert "answered" in scripted.output
    assert [one in scripted.output for one in (back.handle, back.token, session, MARKER)] == [False] * 4  # FR46 REQ-W3
