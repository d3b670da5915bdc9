"""A stream of everything, cut at every byte: the whole message or one typed error, and nothing left behind."""

import asyncio
from typing import Literal

import pytest

from protocol.model import Stopped
from tests.contract.providers import UPSTREAMS, anthropic_at, outcome, request
from tests.fakes import anthropic_upstream as wire
from tests.fakes.anthropic_upstream import Reply

End = Literal["close", "cut"]

SEARCH = wire.block({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})
FOUND = wire.block({"type": "web_search_tool_result", "tool_use_id": "s", "content": []})
CITED = wire.block(
    {"type": "text", "text": "", "citations": []},
    {"type": "citations_delta", "citation": {"type": "char_location", "document_title": "T"}},
    {"type": "text_delta", "text": "é🌍"},
)
BLOCKS = (wire.thinking("Hm", signature="c2"), SEARCH, FOUND, CITED, wire.tool_use("a", "find", '{"q":', "1}"))
EVENTS = wire.spoken(*BLOCKS, reason="tool_use")


def said(whole: bytes) -> int:
    """From here on the last event has been said: in text it need not be ended by its blank line yet."""
    return whole.rindex(b"}") + 1 if whole.endswith(b"\n") else len(whole)


async def cut_everywhere(place: str, places: slice, *ends: End) -> None:
    before = asyncio.all_tasks()
    async with UPSTREAMS[place]() as upstream:
        body = upstream.body(EVENTS)
        async with anthropic_at(upstream) as provider:
            upstream.replies.append(Reply([body]))
            whole = (await outcome(provider, request()))[0]
            for at in range(len(body) + 1)[places]:
                for end in ends if len(ends) == 1 or at % 2 else ends[::-1]:
                    upstream.replies.append(Reply([body[:at]], end=end))
                    seen, error = await outcome(provider, request())
                    if error is None:
                        assert (seen, at >= said(body)) == (whole, True)
                    else:
                        assert (error.kind, at < len(body) or end == "cut") == ("upstream", True)
                        assert not any(isinstance(event, Stopped) for event in seen)
        await upstream.quiet.wait()
    assert asyncio.all_tasks() - before == set()


@pytest.mark.parametrize("place", UPSTREAMS)
async def test_cut_at_places_all_over_it_is_the_message_or_a_typed_error(place: str) -> None:
    """M1 M2 M3 FR52"""
    await cut_everywhere(place, slice(0, None, 23), "cut")
    await cut_everywhere(place, slice(11, None, 23), "close")


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("place", ["anthropic", "bedrock-runtime"])  # Google's bytes are Anthropic's
async def test_cut_at_every_byte_it_is_the_message_or_a_typed_error(place: str) -> None:
    """M1 M2 M3 FR52"""
    await cut_everywhere(place, slice(None), "close", "cut")
