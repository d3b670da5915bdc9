"""The scripted provider: which call is played, and how events become blocks."""

import json

import pytest

from protocol.errors import ProviderError
from protocol.json import JsonObject
from protocol.model import (
    BlockEnded,
    Cited,
    Compacted,
    ModelEvent,
    ModelRequest,
    Stopped,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolSchema,
    Usage,
)
from providers.script import parse_script
from providers.scripted import ScriptedProvider

USER: JsonObject = {"role": "user", "content": [{"type": "text", "text": "What is 2 + 2?"}]}
ASKED: JsonObject = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "a", "name": "calculator", "input": {"expression": "2+2"}}],
}
RESULT: JsonObject = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "4"}]}


def request(*messages: JsonObject, tools: tuple[str, ...] = ()) -> ModelRequest:
    return ModelRequest(
        model="scripted:test",
        system="",
        messages=messages,
        tools=tuple(ToolSchema(name=name, description=name, input_schema={}) for name in tools),
        max_tokens=100,
        idle_seconds=1,
        call_seconds=1,
    )


class Pauses:
    """A pace that only writes down what it was asked to wait."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def provider(*calls: JsonObject, pace: Pauses | None = None) -> ScriptedProvider:
    lines = [{"v": 1, "name": "test", "input": "What is 2 + 2?"}, *calls]
    return ScriptedProvider(parse_script("\n".join(map(json.dumps, lines))), pace=pace or Pauses())


async def events(played: ScriptedProvider, asked: ModelRequest) -> list[ModelEvent]:
    return [event async for event in played.stream(asked)]


async def test_every_kind_of_block_is_streamed_and_kept_verbatim() -> None:
    everything: JsonObject = {
        "events": [
            {"type": "thinking", "text": "Two "},
            {"type": "thinking", "text": "numbers.", "signature": "c2ln"},
            {"type": "text", "text": "Let "},
            {"type": "text", "text": "me see."},
            {"type": "block_end"},
            {"type": "text", "text": "Now."},
            {"type": "tool_input", "id": "a", "name": "calculator", "delta": '{"x":251229'},
            {"type": "tool_input", "id": "a", "name": "calculator", "delta": "2042121000001}"},
            {"type": "tool_input", "id": "b", "name": "calculator", "delta": '{"x":1e400}'},
            {"type": "stop", "reason": "tool_use", "usage": {"input_tokens": 7, "output_tokens": 9}},
        ]
    }
    assert await events(provider(everything), request(USER)) == [
        ThinkingDelta("Two "),
        ThinkingDelta("numbers."),
        BlockEnded("c2ln"),
        TextDelta("Let "),
        TextDelta("me see."),
        BlockEnded(),
        TextDelta("Now."),
        BlockEnded(),
        ToolInputDelta("a", "calculator", '{"x":251229'),
        ToolInputDelta("a", "calculator", "2042121000001}"),
        BlockEnded(),
        ToolInputDelta("b", "calculator", '{"x":1e400}'),
        BlockEnded(),
        Stopped(
            reason="tool_use",
            content=(
                {"type": "thinking", "thinking": "Two numbers.", "signature": "c2ln"},
                {"type": "text", "text": "Let me see."},
                {"type": "text", "text": "Now."},
                {"type": "tool_use", "id": "a", "name": "calculator", "input": {"x": 2512292042121000001}},
                {"type": "tool_use", "id": "b", "name": "calculator", "input": {}},
            ),
            usage=Usage(input_tokens=7, output_tokens=9),
            model="scripted:test",
        ),
    ]


async def test_sources_and_a_summary_stand_between_blocks() -> None:
    """REQ-G4: the history keeps the summary, and of sources nothing."""
    given: JsonObject = {
        "events": [
            {"type": "compaction", "summary": "So far."},
            {"type": "text", "text": "See there."},
            {"type": "source", "title": "A", "url": "https://example.org/a"},
            {"type": "source", "title": "B", "media_type": "text/markdown"},
            {"type": "stop"},
        ]
    }
    said = await events(provider(given), request(USER))

    assert [event for event in said if event != BlockEnded()] == [
        Compacted(),
        TextDelta("See there."),
        Cited(title="A", url="https://example.org/a"),
        Cited(title="B", media_type="text/markdown"),
        Stopped(
            reason="end_turn",
            content=({"type": "compaction", "content": "So far."}, {"type": "text", "text": "See there."}),
            model="scripted:test",
        ),
    ]


def says(text: str) -> JsonObject:
    return {"events": [{"type": "text", "text": text}, {"type": "stop"}]}


async def test_the_call_follows_from_the_history_alone() -> None:
    earlier: JsonObject = {"role": "assistant", "content": [{"type": "text", "text": "An older answer."}]}
    played = provider(says("first"), says("second"))
    assert (await events(played, request(USER, earlier, USER)))[0] == TextDelta("first")
    assert (await events(played, request(USER, earlier, USER, ASKED, RESULT)))[0] == TextDelta("second")
    assert (await events(played, request(USER)))[0] == TextDelta("first")


async def test_a_script_that_is_used_up_is_an_error() -> None:
    with pytest.raises(ProviderError, match="has 1 model calls, not 2") as raised:
        await events(provider(says("first")), request(USER, ASKED, RESULT))
    assert raised.value.kind == "invalid"


@pytest.mark.parametrize(
    ("expect", "field"),
    [({"last_user": "What?"}, "last_user"), ({"tools": ["search"]}, "tools"), ({"tool_results": 1}, "tool_results")],
    ids=["last_user", "tools", "tool_results"],
)
async def test_a_request_that_was_not_expected_is_an_error(expect: JsonObject, field: str) -> None:
    with pytest.raises(ProviderError, match=f"does not fit the request: {field}") as raised:
        await events(provider({**says("no"), "expect": expect}), request(USER, tools=("calculator",)))
    assert raised.value.kind == "invalid"


async def test_an_expected_request_is_answered() -> None:
    expect: JsonObject = {"last_user": "What is 2 + 2?", "tools": ["calculator"], "tool_results": 1}
    played = provider(says("never"), {**says("4"), "expect": expect})
    assert (await events(played, request(USER, ASKED, RESULT, tools=("calculator",))))[0] == TextDelta("4")


async def shown_before_failing(played: ScriptedProvider) -> tuple[list[ModelEvent], ProviderError]:
    seen: list[ModelEvent] = []
    try:
        async for event in played.stream(request(USER)):
            seen.append(event)  # noqa: PERF401 - what came before the error is the point
    except ProviderError as error:
        return seen, error
    raise AssertionError("the call did not fail")


async def test_a_scripted_failure_cuts_the_block_before_it() -> None:
    failure: JsonObject = {"type": "error", "kind": "rate_limited", "retry_after": 2}
    cut: JsonObject = {"events": [{"type": "text", "text": "Half"}, failure]}
    whole: JsonObject = {"events": [{"type": "text", "text": "Half"}, {"type": "block_end"}, failure]}
    seen, error = await shown_before_failing(provider(cut))
    assert seen == [TextDelta("Half")]
    assert (error.kind, error.retry_after, error.retryable) == ("rate_limited", 2, True)
    assert (await shown_before_failing(provider(whole)))[0] == [TextDelta("Half"), BlockEnded()]


async def test_the_gap_is_waited_between_deltas_and_nowhere_else() -> None:
    pauses = Pauses()
    spoken: JsonObject = {
        "events": [{"type": "text", "text": "one two three", "words": True}, {"type": "stop"}],
        "gap_ms": 30,
    }
    await events(provider(spoken, pace=pauses), request(USER))
    assert pauses.seconds == [0.03, 0.03]
