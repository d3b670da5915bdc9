"""Other people's clients watch a worker being killed in the middle of a text, and end with what is stored."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from frames.sse import Parser
from tests.clients.matrix import CLIENTS, Client, without_withdrawn
from tests.clients.service import Browser
from tests.clients.turns import write_turns
from tests.stack.embedded import SECONDS, Stack, running_stack

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]

WATCHING = [client for client in CLIENTS if client.speaks == "chat"]
FIFTH = 5


async def spoken(browser: Browser, conversation: str) -> None:
    """Wait until the run of a conversation that is about to begin has said a few words."""
    parser, words = Parser(), 0
    while words < FIFTH:
        async with browser.client.stream("GET", f"/api/chat/{conversation}/stream") as response:
            async for piece in response.aiter_raw():
                words += sum(event.type == "text-delta" for event in parser.feed(piece))
                if words >= FIFTH:
                    return


async def watched(stack: Stack, client: Client) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the client ended with, and what is stored."""
    async with httpx2.AsyncClient(base_url=stack.url, timeout=SECONDS) as http:
        await http.get("/api/conversations")
        browser = Browser(http)
        told = client.scenario("text", api=f"{stack.url}/api/chat", cookie=browser.cookie)
        watching = asyncio.create_task(client.drive([told]))
        await spoken(browser, client.conversation("text"))
        stack.kill("worker")
        [ended] = await watching
        return ended["messages"][-1]["parts"], (await browser.stored(client.conversation("text")))[-1]["parts"]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    turns = tmp_path_factory.mktemp("turns")
    write_turns(turns)
    settings = {"TURNKEEP_SCRIPTS": str(turns), "CHAT_MODEL": "demo", "TURNKEEP_START_MS": "5000"}
    with running_stack(tmp_path_factory.mktemp("killed"), **settings) as running:
        yield running


@pytest.mark.parametrize("client", WATCHING, ids=lambda client: client.name)
async def test_a_client_sees_a_killed_worker_through(stack: Stack, client: Client) -> None:
    """LAW-P2 [L8] [L9] [R10]: with version 6 of the SDK what was withdrawn stays, and is marked."""
    held, stored = await watched(stack, client)

    assert without_withdrawn(held) == stored
    assert ("data-reset" in json.dumps(held)) == (client.sdk == 6)
