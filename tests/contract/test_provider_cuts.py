"""A stream of everything, cut at every byte: the whole message or one typed error, and nothing left behind."""

import asyncio
from collections.abc import Iterable
from typing import Literal

import pytest

from protocol.model import Stopped
from tests.contract.providers import anthropic_at, outcome, request
from tests.fakes import anthropic_upstream as wire
from tests.fakes.anthropic_upstream import Reply, Upstream

End = Literal["close", "cut"]

SEARCH = wire.block({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})
FOUND = wire.block({"type": "web_search_tool_result", "tool_use_id": "s", "content": []})
CITED = wire.block(
    {"type": "text", "text": "", "citations": []},
    {"type": "citations_delta", "citation": {"type": "char_location", "document_title": "T"}},
    {"type": "text_delta", "text": "é🌍"},
)
BLOCKS = (wire.thinking("Hm", signature="c2"), SEARCH, FOUND, CITED, wire.tool_use("a", "find", '{"q":', "1}"))
WHOLE = wire.body(wire.spoken(*BLOCKS, reason="tool_use"))
SAID = WHOLE.rindex(b"}") + 1  # from here on the last event has been said, if not yet ended by its blank line


async def cut_everywhere(places: Iterable[int], ends: tuple[End, ...]) -> None:
    before = asyncio.all_tasks()
    async with Upstream() as upstream:
        async with anthropic_at(upstream) as provider:
            upstream.replies.append(Reply([WHOLE]))
            whole = (await outcome(provider, request()))[0]
            for at in places:
                for end in ends if len(ends) == 1 or at % 2 else ends[::-1]:
                    upstream.replies.append(Reply([WHOLE[:at]], end=end))
                    seen, error = await outcome(provider, request())
                    if error is None:
                        assert (seen, at >= SAID) == (whole, True)
                    else:
                        assert (error.kind, at < len(WHOLE) or end == "cut") == ("upstream", True)
                        assert not any(isinstance(event, Stopped) for event in seen)
        await upstream.quiet.wait()
    assert asyncio.all_tasks() - before == set()


async def test_cut_at_places_all_over_it_is_the_message_or_a_typed_error() -> None:
    """M1 M2 M3 FR52"""
    await cut_everywhere(range(0, len(WHOLE), 23), ("cut",))
    await cut_everywhere(range(11, len(WHOLE) + 1, 23), ("close",))


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_cut_at_every_byte_it_is_the_message_or_a_typed_error() -> None:
    """M1 M2 M3 FR52"""
    await cut_everywhere(range(len(WHOLE) + 1), ("close", "cut"))
