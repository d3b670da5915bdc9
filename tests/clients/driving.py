"""A client driven through turns at once, on lines that break."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from tests.clients.cutting import Cutting
from tests.clients.matrix import Client
from tests.clients.service import browser

CUTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Driven:
    """By turn: the answer that the client ended with, the stored one as this client knows it, and how often it was cut."""

    held: dict[str, Any]
    stored: dict[str, Any]
    cuts: dict[str, int]

    def passed(self, turn: str) -> bool:
        """Whether it ended with what is stored, having been cut as often as it should."""
        return bool(self.held[turn] == self.stored[turn]) and self.cuts[turn] == CUTS


async def driven(
    url: str, client: Client, turns: Sequence[str], *, on_back: Callable[[], object] = object
) -> Driven:
    """Drive it, each turn on a line of its own; `on_back` is called when a client is back after the last cut of its line."""
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(browser(url))
        lines = {turn: await stack.enter_async_context(Cutting(url, client.cuts, on_back)) for turn in turns}
        told = [
            client.scenario(turn, api=f"{line.url}/api/chat", cookie=session.cookie) for turn, line in lines.items()
        ]
        ended = dict(zip(turns, await client.drive(told), strict=True))
        stored = {turn: (await session.stored(client.conversation(turn)))[-1]["parts"] for turn in turns}
    return Driven(
        held={turn: client.shown(one) for turn, one in ended.items()},
        stored={turn: client.expected(parts, turn) for turn, parts in stored.items()},
        cuts={turn: line.made for turn, line in lines.items()},
    )
