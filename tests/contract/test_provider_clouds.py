"""What is different where the clouds are asked: the request, the framing, what their errors mean."""

from collections.abc import AsyncIterator
from dataclasses import replace
from struct import pack

import pytest

from protocol.errors import ErrorKind
from protocol.json import JsonObject
from protocol.model import Stopped, TextDelta
from providers.anthropic import AnthropicProvider
from providers.bedrock_runtime import BedrockRuntimeProvider
from providers.vertex import VertexProvider
from tests.contract.providers import UPSTREAMS, anthropic_at, outcome, request, user
from tests.fakes import anthropic_upstream as wire
from tests.fakes import clouds, event_stream
from tests.fakes.anthropic_upstream import Reply, Upstream
from tests.fakes.clouds import BedrockRuntimeUpstream, VertexUpstream
from tests.provider_bench import NEXT_ID, NO_SCRIPT, bench
from tests.provider_cases import shape

CLOUDS = ("bedrock-runtime", "vertex")
IDS = {"bedrock-runtime": "us.anthropic.claude-fable-5-2-v1:0", "vertex": "claude-fable-5-2@20260901"}
HELLO = wire.spoken(wire.text("Hello."))
HALF = wire.spoken(wire.text("Half"))[:4]
ASKS = wire.spoken(
    wire.thinking("Add.", signature="c2ln"), wire.tool_use("a", "add", '{"a":2,"b":2}'), reason="tool_use"
)


@pytest.fixture(params=CLOUDS)
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def upstream(place: str) -> AsyncIterator[Upstream]:
    async with UPSTREAMS[place]() as made:
        yield made


@pytest.fixture
async def provider(upstream: Upstream) -> AsyncIterator[AnthropicProvider]:
    async with anthropic_at(upstream) as made:
        yield made


@pytest.fixture
async def bedrock() -> AsyncIterator[BedrockRuntimeUpstream]:
    async with BedrockRuntimeUpstream() as made:
        yield made


async def test_a_cloud_is_asked_for_what_it_takes(place: str, upstream: Upstream, provider: AnthropicProvider) -> None:
    """REQ-G2 REQ-H7: the model's id in the path, no beta and no fast mode; the thoughts it binds cannot be left out there."""
    upstream.replies.append(Reply([upstream.body(HELLO)]))
    asked = request(model=IDS[place], thinking=True, fast=True)
    events, error = await outcome(provider, replace(asked, compact_at=100_000))
    assert (error, isinstance(events[-1], Stopped), upstream.betas) == (None, True, [set()])
    assert upstream.paths == [
        {
            "bedrock-runtime": "/model/us.anthropic.claude-fable-5-2-v1:0/invoke-with-response-stream",
            "vertex": f"/v1/projects/{clouds.PROJECT}/locations/{clouds.REGION}/publishers/anthropic/models/"
            "claude-fable-5-2@20260901:streamRawPredict",
        }[place]
    ]
    said = upstream.requests[0]
    assert sorted(said.keys() - {"stream"}) == ["max_tokens", "messages", "model", "system", "thinking", "tools"]
    assert said["thinking"] == {"type": "adaptive", "display": "summarized"}


async def test_a_turn_with_a_tool_and_the_turn_after_it_are_accepted(place: str) -> None:
    """REQ-G1 REQ-G2 M4: thoughts and calls go back as they came, in a step and in the next turn."""
    async with bench(UPSTREAMS[place], IDS[place]) as made:
        made.upstream.replies += [Reply([made.upstream.body(events)]) for events in (ASKS, HELLO)]
        async with made.rig({"replies": []}) as rig:
            await rig.begin("Go.")
            first = await rig.run(NO_SCRIPT)
            await rig.begin("And now?", run_id=NEXT_ID)
            second = await rig.run(NO_SCRIPT, run_id=NEXT_ID)
    assert (first[-1].status, second[-1].status, made.upstream.complaints) == ("completed", "completed", [])
    assert shape(made.upstream.requests[-1]["messages"]) == [  # type: ignore[arg-type] # as it was sent
        "user: text", "assistant: thinking tool_use", "user: tool_result", "assistant: text", "user: text",
    ]  # fmt: skip


async def test_a_call_without_its_answer_is_refused_there_too(upstream: Upstream, provider: AnthropicProvider) -> None:
    """The fakes are as strict as the one they come from, and what the clouds say of it stays with us (M2)."""
    call: JsonObject = {"type": "tool_use", "id": "a", "name": "find", "input": {}}
    unanswered: JsonObject = {"role": "assistant", "content": [call]}
    _, error = await outcome(provider, request(user("Go."), unanswered, user("And now?")))
    assert error is not None
    assert (error.kind, error.passing) == ("invalid", False)
    assert upstream.complaints == [
        "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after"
    ]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", "context_overflow"),
        ("Input is too long for requested model.", "context_overflow"),
        ("max_tokens: too many", "invalid"),
    ],
)
async def test_a_prompt_that_is_too_long_is_known_as_such(
    upstream: Upstream, provider: AnthropicProvider, said: str, kind: ErrorKind
) -> None:
    """FR50: then the same is asked with less."""
    upstream.replies.append(upstream.refused("invalid_request_error", 400, said))
    _, error = await outcome(provider, request())
    assert error is not None
    assert error.kind == kind


async def test_thoughts_that_do_not_fit_any_more_are_left_out(upstream: Upstream, provider: AnthropicProvider) -> None:
    """FR20: a cloud cannot leave them out itself, so it is asked once more, without."""
    upstream.replies += [Reply([upstream.body(events)]) for events in (ASKS, HELLO)]
    asked = request(user("Go."), model="claude-fable-5-2", thinking=True)
    stopped = (await outcome(provider, asked))[0][-1]
    assert isinstance(stopped, Stopped)
    result: JsonObject = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "4"}]}
    said: JsonObject = {"role": "assistant", "content": [*stopped.content]}
    messages = (user("Go."), said, JsonObject(role="user", content=[result]))
    _, error = await outcome(provider, replace(asked, messages=messages, system="Answer in rhyme."))
    assert error is None
    assert upstream.complaints == ["messages.1.content.0: The block is bound to a different conversation"]


async def test_a_key_of_somebody_else_is_refused(upstream: Upstream) -> None:
    """REQ-H5: and so is a signature that was made with another secret."""
    strangers = (
        VertexProvider(clouds.PROJECT, clouds.REGION, base_url=f"{upstream.url}/v1", token="other"),
        BedrockRuntimeProvider(clouds.REGION, base_url=upstream.url, access_key=clouds.ACCESS_KEY, secret_key="other"),
    )
    stranger = strangers[0] if isinstance(upstream, VertexUpstream) else strangers[1]
    _, error = await outcome(stranger, request())
    for one in strangers:
        await one.aclose()
    assert error is not None
    assert (error.kind, upstream.requests) == ("not_configured", [])


@pytest.mark.parametrize(
    ("named", "kind", "passing"),
    [
        ("throttlingException", "rate_limited", True),
        ("modelStreamErrorException", "upstream", True),
        ("internalServerException", "upstream", True),
        ("serviceUnavailableException", "upstream", True),
        ("modelTimeoutException", "timeout", True),
        ("validationException", "invalid", False),
        ("exceptionOfALaterDay", "upstream", True),
    ],
)
async def test_an_exception_in_mid_stream_is_a_typed_error(
    bedrock: BedrockRuntimeUpstream, named: str, kind: ErrorKind, passing: bool
) -> None:
    """M2 REQ-H8: what came before it counts, its words stay inside."""
    bedrock.replies.append(Reply([bedrock.body(HALF), event_stream.exception(named, "sk-ant-secret")]))
    async with anthropic_at(bedrock) as provider:
        events, error = await outcome(provider, request())
    assert error is not None
    assert (events, error.kind, error.passing) == ([TextDelta("Half")], kind, passing)
    assert (error.usage.input_tokens, "sk-ant" in error.message) == (10, False)


@pytest.mark.parametrize(
    ("named", "status", "kind"),
    [
        ("ThrottlingException", 429, "rate_limited"),
        ("ServiceQuotaExceededException", 400, "rate_limited"),
        ("ModelNotReadyException", 429, "rate_limited"),
        ("ModelTimeoutException", 408, "timeout"),
        ("ModelErrorException", 424, "upstream"),
        ("ServiceUnavailableException", 503, "upstream"),
        ("AccessDeniedException", 403, "not_configured"),
        ("ResourceNotFoundException", 404, "not_configured"),
        ("ValidationException", 400, "invalid"),
    ],
)
async def test_what_amazon_answers_instead_of_a_stream_is_a_typed_error(
    bedrock: BedrockRuntimeUpstream, named: str, status: int, kind: ErrorKind
) -> None:
    """M2 REQ-H8"""
    bedrock.replies.append(bedrock.refused(named, status))
    async with anthropic_at(bedrock) as provider:
        events, error = await outcome(provider, request())
    assert error is not None
    assert (events, error.kind, "sk-ant" in error.message) == ([], kind, False)


async def test_one_wrong_bit_anywhere_is_a_typed_error(bedrock: BedrockRuntimeUpstream) -> None:
    """M1 M2: the sums of a frame cover all of it, so what was altered on the way is never taken for an answer."""
    whole = bedrock.body(HELLO)
    last = whole.rindex(b":event-type") - event_stream.PRELUDE - 1  # where the frame with `message_stop` begins
    async with anthropic_at(bedrock) as provider:
        for at in range(0, len(whole), 29):
            altered = whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]
            bedrock.replies.append(Reply([altered]))
            events, error = await outcome(provider, request())
            assert error is not None
            assert (error.kind, any(isinstance(event, Stopped) for event in events)) == ("upstream", False)
            assert (TextDelta("Hello.") in events) or at < last


@pytest.mark.parametrize(
    "frame",
    [
        event_stream.framed(pack(">B", 99) + b":event", b"{}"),
        event_stream.framed(b"\x01a\x2a", b"{}"),
        event_stream.framed(b"\x01a\x07\x00", b"{}"),
        event_stream.framed(b"\x01a\x07\x00\x01\xff", b"{}"),
        event_stream.framed(b"", b"no JSON"),
        b"<html>a page of a proxy</html>" * 3,
        b"short",
    ],
    ids=["a name beyond its end", "an unknown type", "half a length", "no text", "no headers", "a page", "no frame"],
)
async def test_a_frame_that_lies_is_a_typed_error(bedrock: BedrockRuntimeUpstream, frame: bytes) -> None:
    """M2: with right sums, too."""
    bedrock.replies.append(Reply([bedrock.body(HALF), frame]))
    async with anthropic_at(bedrock) as provider:
        events, error = await outcome(provider, request())
    assert error is not None
    assert (events, error.kind) == ([TextDelta("Half")], "upstream")
