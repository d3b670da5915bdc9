"""The Anthropic adapter against a strict upstream of our own: every way a stream can go wrong, and what is sent."""

import json
from collections.abc import AsyncIterator

import pytest

from protocol.errors import ErrorKind
from protocol.json import JsonObject
from protocol.model import BlockEnded, Metered, Stopped, TextDelta, ToolInputDelta, Usage
from providers.anthropic import AnthropicProvider
from tests.contract.providers import anthropic_at, outcome, request, user
from tests.fakes import anthropic_upstream as wire
from tests.fakes.anthropic_upstream import Reply, Upstream

HELLO = wire.spoken(wire.text("你好🌍 ", "naïve é"))


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with Upstream() as made:
        yield made


@pytest.fixture
async def provider(upstream: Upstream) -> AsyncIterator[AnthropicProvider]:
    async with anthropic_at(upstream) as made:
        yield made


async def test_text_survives_a_cut_at_every_byte(upstream: Upstream, provider: AnthropicProvider) -> None:
    """M5 FR40: of its own; elsewhere a cut meets no character."""
    whole = wire.body(HELLO)
    for at in range(whole.index("你".encode()), whole.rindex("é".encode()) + 2):
        upstream.replies.append(Reply([whole[:at], whole[at:]]))
        events, error = await outcome(provider, request())
        assert error is None
        assert events[:3] == [TextDelta("你好🌍 "), TextDelta("naïve é"), BlockEnded()]
    assert upstream.connections == 1  # read to its end, a connection serves the next call


async def test_bytes_that_are_no_text_are_one_typed_error(upstream: Upstream, provider: AnthropicProvider) -> None:
    """M2 FR40"""
    upstream.replies.append(Reply([wire.body(HELLO).replace("好".encode(), b"\xff")]))
    _, error = await outcome(provider, request())
    assert error is not None
    assert error.kind == "upstream"


async def test_inputs_keep_their_digits_and_cut_ones_are_not_guessed(
    upstream: Upstream, provider: AnthropicProvider
) -> None:
    """M4 FR41: and `max_tokens` inside a tool's input leaves what arrived to the fragments."""
    exact = wire.tool_use("a", "find", '{"id":25122920', '42121000001,"s":"é"}')
    cut = wire.tool_use("b", "find", '{"n":[1,2')
    upstream.replies.append(Reply([wire.body(wire.spoken(exact, cut, reason="max_tokens"))]))
    events, error = await outcome(provider, request())
    assert error is None
    assert ToolInputDelta("b", "find", '{"n":[1,2') in events
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    assert stopped.reason == "max_tokens"
    assert [kept["input"] for kept in stopped.content] == [{"id": 2512292042121000001, "s": "é"}, {}]


BROKEN: dict[str, tuple[Reply, ErrorKind]] = {
    "end without message_stop": (Reply([wire.body(HELLO[:-1])]), "upstream"),
    "no stop reason": (Reply([wire.body(wire.spoken(wire.text("x"), reason=None))]), "upstream"),
    "nothing at all": (Reply([]), "upstream"),
    "connection cut": (Reply([wire.body(HELLO[:5])], end="cut"), "upstream"),
    "error event: overloaded": (Reply([wire.body([*HELLO[:5], wire.error("overloaded_error")])]), "upstream"),
    "error event: rate limit": (Reply([wire.body([*HELLO[:5], wire.error("rate_limit_error")])]), "rate_limited"),
    "error event: not JSON": (Reply([b"event: error\ndata: <html>\n\n"]), "upstream"),
    "data that is not JSON": (Reply([b"event: message_start\ndata: {nope\n\n"]), "upstream"),
    "data that is not an object": (Reply([b"event: message_start\ndata: [1]\n\n"]), "upstream"),
    "a delta without its block": (Reply([wire.body([HELLO[0], HELLO[3]])]), "upstream"),
    "events without names": (Reply([wire.body(HELLO).replace(b"event: ", b"x: ")]), "upstream"),
    "529": (wire.refused("overloaded_error", 529), "upstream"),
    "500": (wire.refused("api_error", 500), "upstream"),
    "429": (wire.refused("rate_limit_error", 429), "rate_limited"),
    "401": (wire.refused("authentication_error", 401), "not_configured"),
    "404": (wire.refused("not_found_error", 404), "not_configured"),
    "400": (wire.refused("invalid_request_error", 400), "invalid"),
    "prompt too long": (
        wire.refused("invalid_request_error", 400, "prompt is too long: 210000 tokens > 200000 maximum"),
        "context_overflow",
    ),
    "413": (wire.refused("request_too_large", 413), "too_large"),
    "504 without a type": (Reply([b"<html>"], status=504), "timeout"),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_every_other_end_is_one_typed_error(case: str, upstream: Upstream, provider: AnthropicProvider) -> None:
    """M1 M2 REQ-H8"""
    reply, kind = BROKEN[case]
    upstream.replies.append(reply)
    events, error = await outcome(provider, request())
    assert error is not None
    assert error.kind == kind
    assert not any(isinstance(event, Stopped) for event in events)
    assert not any(foreign in str(error) for foreign in ("sk-ant", "http", "Internal", "210000"))
    assert len(upstream.requests) == 1  # FR09: nothing is tried again here


async def test_nobody_at_the_address_is_a_typed_error() -> None:
    """M2"""
    async with Upstream() as gone, anthropic_at(gone) as provider:
        gone._server.close()
        _, error = await outcome(provider, request())
    assert error is not None
    assert error.kind == "upstream"


async def test_pings_are_no_progress(upstream: Upstream, provider: AnthropicProvider) -> None:
    """M3 REQ-H9: the call is ended, and closed, though bytes kept coming."""
    pings = [wire.sse({"type": "ping"})] * 50
    upstream.replies.append(Reply([wire.body(HELLO[:4]), *pings], end="hold"))
    events, error = await outcome(provider, request(seconds=0.5))  # in which a busy machine has read some of it
    assert events == [TextDelta("你好🌍 ")]
    assert error is not None
    assert error.kind == "timeout"
    await upstream.left.wait()


async def test_a_message_is_complete_before_its_body_ends(upstream: Upstream, provider: AnthropicProvider) -> None:
    """M1: a server that never closes the body does not hold the answer back."""
    upstream.replies.append(Reply([wire.body(HELLO)], end="hold"))
    events, error = await outcome(provider, request())
    assert error is None
    assert isinstance(events[-1], Stopped)
    await upstream.left.wait()


async def test_a_tool_loop_sends_back_what_came_and_marks_what_is_cached(
    upstream: Upstream, provider: AnthropicProvider
) -> None:
    """M4 REQ-G7, REQ-H7: verbatim blocks, four breakpoints, no sampling; the history itself is not touched."""
    blocks = (wire.thinking("Hm.", signature="c2ln"), wire.text("Look."), wire.tool_use("a", "find", '{"q":1}'))
    upstream.replies.append(Reply([wire.body(wire.spoken(*blocks, reason="tool_use"))]))
    upstream.replies.append(Reply([wire.body(HELLO)]))
    events, _ = await outcome(provider, request(user("Find it")))
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    assistant: JsonObject = {"role": "assistant", "content": list(stopped.content)}
    result: JsonObject = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "1"}]}
    answered: JsonObject = {"role": "user", "content": [result]}
    history = (user("Find it"), assistant, answered)
    before = json.dumps(history)
    _, error = await outcome(provider, request(*history))
    assert error is None
    assert json.dumps(history) == before
    cached = {"cache_control": {"type": "ephemeral"}}
    assert upstream.requests[1] == {
        "model": "claude-x-1",
        "max_tokens": 8192,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief.", **cached}],
        "tools": [{"name": "find", "description": "Find.", "input_schema": {"type": "object"}, **cached}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Find it", **cached}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "text", "text": "Look."},
                    {"type": "tool_use", "id": "a", "name": "find", "input": {"q": 1}},
                ],
            },
            {"role": "user", "content": [{**result, **cached}]},
        ],
    }


async def test_an_unanswered_call_is_refused(upstream: Upstream, provider: AnthropicProvider) -> None:
    """The upstream is strict: what the engine must never send comes back as `invalid`."""
    asked: JsonObject = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "find", "input": {}}]}
    _, error = await outcome(provider, request(user("Find it"), asked, user("And?")))
    assert error is not None
    assert error.kind == "invalid"


async def test_what_the_call_has_used_is_told_before_its_end(upstream: Upstream, provider: AnthropicProvider) -> None:
    """M6, FR63: the input with the first event, so that a call which is cut later is billed for it."""
    upstream.replies.append(Reply([wire.body(HELLO)]))

    events = [event async for event in provider.stream(request())]

    first = Usage(input_tokens=10, cache_write_tokens=3, cache_read_tokens=4, output_tokens=1)
    last = first.model_copy(update={"output_tokens": 9})
    assert events[0] == Metered(first)
    assert [event.usage for event in events if isinstance(event, Metered | Stopped)] == [first, last, last]
