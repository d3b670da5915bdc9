"""Other people's clients, as they are, against the API over a real store: through every turn, cut three times on its way.

`docs/clients.md` shows these rows and columns as a table.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.clients.cutting import Cutting
from tests.clients.matrix import CLIENTS, Client
from tests.clients.service import browser, service
from tests.servers import Server

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]


@pytest.fixture
async def url(tmp_path: Path, valkey: Server) -> AsyncIterator[str]:
    async with service(tmp_path, valkey) as address:
        yield address


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.row)
async def test_a_client_that_is_cut_ends_with_the_stored_message(url: str, client: Client) -> None:
    """LAW-P2 [R1] [R8] [R9] FR01 FR59 REQ-G10"""
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(browser(url))
        lines = {turn: await stack.enter_async_context(Cutting(url, client.cuts)) for turn in client.turns}
        told = [
            client.scenario(turn, api=f"{line.url}/api/chat", cookie=session.cookie) for turn, line in lines.items()
        ]
        ended = dict(zip(lines, await client.drive(told), strict=True))
        stored = {turn: await session.stored(client.conversation(turn)) for turn in lines}

    answers = {turn: messages[-1]["parts"] for turn, messages in stored.items()}
    assert {turn: client.shown(ended[turn]) for turn in lines} == {
        turn: client.expected(parts, turn) for turn, parts in answers.items()
    }
    assert {turn: line.made for turn, line in lines.items()} == dict.fromkeys(lines, len(client.cuts))
