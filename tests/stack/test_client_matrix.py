"""Other people's clients, as they are, against the API over a real store: through every turn, cut three times on its way.

`docs/clients.md` shows what was seen as a table, which `make clients` writes.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.clients.driving import CUTS, driven
from tests.clients.matrix import CLIENTS, Client
from tests.clients.node import Major, NodeClient
from tests.clients.service import browser, service
from tests.clients.table import row, rows
from tests.clients.turns import HELD, question
from tests.servers import Server

pytestmark = pytest.mark.timeout(240)  # the first test installs the packages

NEWEST = next(client for client in CLIENTS if client.sdk == 7)


@pytest.fixture
async def url(tmp_path: Path, valkey: Server) -> AsyncIterator[str]:
    async with service(tmp_path, valkey) as address:
        yield address


async def test_the_newest_usechat_that_is_cut_ends_with_the_stored_message(tmp_path: Path, valkey: Server) -> None:
    """LAW-P2 [R8] [R9]: the turn goes on when the client is back from its last cut, however long that takes."""
    reading, writing = os.pipe()
    async with service(tmp_path, valkey, reading) as url:
        answer = await driven(url, NEWEST, [HELD], on_back=lambda: os.write(writing, b"."))
    os.close(reading)
    os.close(writing)

    assert (answer.held, answer.cuts) == (answer.stored, {HELD: CUTS})


@pytest.mark.long
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
async def test_a_client_that_is_cut_ends_with_the_stored_message(url: str, client: Client) -> None:
    """LAW-P2 [R1] [R8] [R9] [W9] FR27 FR59 REQ-G10"""
    answers = await driven(url, client, client.turns)

    assert answers.held == answers.stored
    assert answers.cuts == dict.fromkeys(client.turns, CUTS)
    assert row(client, answers) in rows()


@pytest.mark.long
@pytest.mark.parametrize("major", [6, 7])
async def test_a_page_that_is_reloaded_puts_the_answer_where_it_belongs(url: str, major: Major) -> None:
    """FR01: the answer before stays as it is, and the one under way is a message of its own."""
    async with browser(url) as session:
        await session.client.post("/api/chat", json={"message": question("short"), "conversation_id": "c1"})
        asked = {"message": question("text"), "conversation_id": "c1"}
        async with session.client.stream("POST", "/api/chat", json=asked) as response:
            await anext(response.aiter_raw())
            loaded = await session.stored("c1")
            told = {"api": f"{url}/api/chat", "cookie": session.cookie, "chatId": "c1", "sdk": major}
            [page] = await NodeClient("chat.mjs", major)([{**told, "messages": loaded, "steps": [{"do": "resume"}]}])
        stored = await session.stored("c1")

    assert (len(loaded), page["messages"]) == (3, stored)
