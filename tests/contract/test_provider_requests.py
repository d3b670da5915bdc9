"""What the adapter asks for, and asks again: fast mode, other addresses, thoughts of another prefix, silence."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from protocol.json import JsonObject
from protocol.model import BlockEnded, Stopped, TextDelta
from providers.anthropic import AnthropicProvider, BedrockProvider
from tests.contract.providers import anthropic_at, outcome, request, user
from tests.fakes import anthropic_upstream as wire
from tests.fakes.anthropic_upstream import Reply, Upstream
from tests.provider_bench import MODEL, NEXT_ID, NO_SCRIPT, ProviderRig, bench
from tests.provider_cases import shape
from tests.rig import RUN_ID
from tools.declare import tool

HELLO = Reply([wire.body(wire.spoken(wire.text("Hello.")))])
BUSY = wire.refused("rate_limit_error", 429)


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with Upstream() as made:
        yield made


@pytest.fixture
async def provider(upstream: Upstream) -> AsyncIterator[AnthropicProvider]:
    async with anthropic_at(upstream) as made:
        yield made


@pytest.mark.parametrize("busy", [BUSY, wire.refused("overloaded_error", 529)], ids=["429", "529"])
async def test_where_fast_mode_is_used_up_the_call_is_made_without_it(
    upstream: Upstream, provider: AnthropicProvider, busy: Reply
) -> None:
    """REQ-G8: once, before anything was said; its limit is not the model's."""
    upstream.replies += [busy, HELLO]
    events, error = await outcome(provider, request(model="claude-opus-5", fast=True))
    assert error is None
    assert events[:2] == [TextDelta("Hello."), BlockEnded()]
    assert [asked.get("speed") for asked in upstream.requests] == ["fast", None]
    assert upstream.betas == [{"fast-mode-2026-02-01"}, set()]


async def test_without_fast_mode_or_without_money_nothing_is_asked_twice(
    upstream: Upstream, provider: AnthropicProvider
) -> None:
    """REQ-H8: retries are decided above, and the end of a budget is for good."""
    spent = BUSY.pieces[0].replace(
        b'"message"', b'"details": {"error_code": "enforced_spend_limit_reached"}, "message"'
    )
    upstream.replies += [BUSY, replace(BUSY, pieces=[spent]), BUSY, BUSY]
    found = [await outcome(provider, request(model="claude-opus-5", fast=fast)) for fast in (False, True, True)]
    assert [(error.kind, error.passing) for _, error in found if error] == [
        ("rate_limited", True), ("not_configured", False), ("rate_limited", True),
    ]  # fmt: skip
    assert len(upstream.requests) == 4


async def test_what_was_charged_as_fast_is_told(upstream: Upstream, provider: AnthropicProvider) -> None:
    told = wire.spoken(wire.text("Hello."))
    told[-2]["usage"]["speed"] = "fast"
    upstream.replies += [Reply([wire.body(told)]), HELLO]
    stops = [(await outcome(provider, request(model="claude-opus-5", fast=True)))[0][-1] for _ in range(2)]
    assert [stop.fast for stop in stops if isinstance(stop, Stopped)] == [True, False]


async def test_bedrock_is_asked_the_same_without_betas(upstream: Upstream) -> None:
    """REQ-G2 REQ-H7: another address, another key, the same wire."""
    upstream.replies.append(HELLO)
    bedrock = BedrockProvider("bedrock-key", base_url=f"{upstream.url}/anthropic")
    asked = request(model="anthropic.claude-opus-5-5", thinking=True, fast=True)
    events, error = await outcome(bedrock, replace(asked, compact_at=100_000))
    await bedrock.aclose()
    assert error is None
    assert isinstance(events[-1], Stopped)
    assert (upstream.paths, upstream.betas) == (["/anthropic/v1/messages"], [set()])
    assert sorted(upstream.requests[0]) == ["max_tokens", "messages", "model", "stream", "system", "thinking", "tools"]


async def test_events_that_say_nothing_do_not_keep_a_call_alive(
    upstream: Upstream, provider: AnthropicProvider
) -> None:
    """FR52 REQ-H9: an unknown event a few milliseconds apart, for ever; one limit is for silence, one for the whole."""
    noise = b'event: noise\ndata: {"type": "noise"}\n\n'
    upstream.ping = noise
    upstream.replies += [Reply([wire.body(wire.spoken(wire.text("a"))[:4])], end="ping")] * 2
    _, silent = await outcome(provider, request(seconds=0.1))
    assert silent is not None
    assert (silent.kind, silent.passing) == ("timeout", True)
    _, over = await outcome(provider, replace(request(), call_seconds=0.1))
    assert over is not None
    assert (over.kind, over.passing) == ("timeout", False)  # what used up all its time would do so again


async def test_a_call_that_broke_off_tells_what_it_used(upstream: Upstream, provider: AnthropicProvider) -> None:
    """FR53: what the provider counted, and an estimate of what it said but had not counted yet."""
    upstream.replies.append(Reply([wire.body(wire.spoken(wire.text("word " * 80))[:5])]))
    _, error = await outcome(provider, request())
    assert error is not None
    assert error.usage.model_dump() == {
        "input_tokens": 10, "output_tokens": 100, "cache_read_tokens": 4, "cache_write_tokens": 3,
    }  # fmt: skip


async def test_where_its_tools_ran_is_named_in_the_next_step() -> None:
    async with bench() as made:
        told = wire.spoken(wire.text("Running."), reason="pause_turn")
        told[-2]["delta"]["container"] = {"id": "container_1", "expires_at": "2026-11-30T10:00:00Z"}
        made.upstream.replies += [Reply([wire.body(told)]), HELLO]
        async with made.rig({"replies": []}) as rig:
            await rig.begin("Go.")
            await rig.run(NO_SCRIPT, slice_ms=0)
    assert [asked.get("container") for asked in made.upstream.requests] == [None, "container_1"]


async def test_a_huge_result_does_not_end_a_conversation() -> None:
    """FR50: it is cut before it enters the prompt, which the upstream bounds, in this turn and in the next."""

    @tool(repeat="safe")
    async def huge() -> str:
        """Much."""
        return "é" * 700_000

    async with bench() as made:
        made.upstream.limit_tokens = 50_000
        asks = wire.spoken(wire.tool_use("a", "huge"), reason="tool_use")
        made.upstream.replies += [Reply([wire.body(asks)]), HELLO]
        async with made.rig({"replies": []}) as rig:
            assert isinstance(rig, ProviderRig)
            rig.made = replace(rig.made, tools=(huge,))
            await rig.begin("Go.")
            first = await rig.run(NO_SCRIPT)
            await rig.begin("And now?", run_id=NEXT_ID)
            second = await rig.run(NO_SCRIPT, run_id=NEXT_ID)
    assert (first[-1].status, second[-1].status) == ("completed", "completed")
    assert (made.upstream.complaints, len(made.upstream.requests)) == ([], 3)


THOUGHT = wire.thinking("Add.", signature="c2ln")
ASKS = Reply([wire.body(wire.spoken(THOUGHT, wire.tool_use("a", "add", '{"a":2,"b":2}'), reason="tool_use"))])


async def test_a_deploy_that_changes_the_instructions_does_not_end_a_conversation() -> None:
    """FR20, REQ-G7: bound thoughts are left out by the provider, in mid-turn and in later turns; the rest stays as it is."""
    async with bench() as made:
        made.upstream.replies += [ASKS, HELLO]
        async with made.rig({"replies": []}) as rig:
            assert isinstance(rig, ProviderRig)
            await rig.begin("Go.")
            before = rig.made
            await rig.run(NO_SCRIPT)
            assert made.upstream.dropped == []
            rig.made = replace(before, instructions="Answer in rhyme.")
            await rig.begin("And now?", run_id=NEXT_ID)
            results = await rig.run(NO_SCRIPT, run_id=NEXT_ID)
    assert results[-1].status == "completed"
    assert (made.upstream.complaints, made.upstream.dropped) == ([], ["messages.1.content.0"])
    assert shape(made.upstream.requests[-1]["messages"]) == [  # type: ignore[arg-type] # as it was sent
        "user: text", "assistant: thinking tool_use", "user: tool_result", "assistant: text", "user: text",
    ]  # fmt: skip


async def test_an_address_that_cannot_leave_thoughts_out_is_asked_without_them(upstream: Upstream) -> None:
    """FR20: once; a conversation outlives its thoughts. It shows, too, that the upstream refuses them."""
    upstream.replies += [ASKS, HELLO]
    asked = request(user("Go."), model=MODEL, thinking=True)
    async with anthropic_at(upstream) as provider:
        provider.first_party = False
        events, _ = await outcome(provider, asked)
        stopped = events[-1]
        assert isinstance(stopped, Stopped)
        result: JsonObject = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "4"}]}
        said: JsonObject = {"role": "assistant", "content": [*stopped.content]}
        answered: JsonObject = {"role": "user", "content": [result]}
        changed = replace(asked, messages=(user("Go."), said, answered), system="Answer in rhyme.")
        _, error = await outcome(provider, changed)
    assert error is None
    assert upstream.complaints == ["messages.1.content.0: The block is bound to a different conversation"]
    assert shape(upstream.requests[-1]["messages"]) == ["user: text", "assistant: tool_use", "user: tool_result"]  # type: ignore[arg-type] # as it was sent


async def test_a_key_is_not_taken_to_another_address(upstream: Upstream, provider: AnthropicProvider) -> None:
    """REQ-H2"""
    async with Upstream() as elsewhere:
        upstream.replies.append(Reply([], status=307, headers={"location": f"{elsewhere.url}/v1/messages"}))
        _, error = await outcome(provider, request())
    assert error is not None
    assert (error.kind, elsewhere.connections) == ("upstream", 0)


async def test_the_prefix_of_a_conversation_is_the_same_bytes_in_every_call() -> None:
    """REQ-D6 REQ-G7: over steps, slices and turns; only the messages grow."""
    async with bench() as made:
        made.upstream.replies += [ASKS, HELLO]
        async with made.rig({"replies": []}) as rig:
            await rig.begin("Go.")
            await rig.run(NO_SCRIPT, slice_ms=0)
            await rig.begin("And now?", run_id=NEXT_ID)
            await rig.run(NO_SCRIPT, run_id=NEXT_ID)
    assert RUN_ID != NEXT_ID
    prefixes = {repr((asked["system"], asked["tools"], asked["thinking"])) for asked in made.upstream.requests}
    assert (len(made.upstream.requests), len(prefixes)) == (3, 1)
