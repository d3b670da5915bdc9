"""The Anthropic adapter against aimock, a fake upstream that we did not write."""

from collections.abc import AsyncIterator

import pytest

from assistants.definition import Assistant
from protocol.json import Json, JsonObject
from protocol.model import BlockEnded, ModelEvent, Stopped, TextDelta, ThinkingDelta, ToolInputDelta, Usage
from providers.anthropic import AnthropicProvider
from records.records import Records
from runner.parts import Chosen
from tests.contract.aimock import aimock as aimock  # noqa: PLC0414 - a fixture: pytest finds it by this name
from tests.contract.providers import outcome, request, user
from tests.provider_bench import NEXT_ID, NO_SCRIPT, ProviderRig
from tests.rig import Outside
from tools.declare import tool

MODEL = "claude-haiku-4-5"
PARIS: JsonObject = {"city": "Paris", "unit": "°C", "id": 2**53 - 1}  # the mock itself rounds beyond


@pytest.fixture
async def provider(aimock: str) -> AsyncIterator[AnthropicProvider]:
    made = AnthropicProvider("test", base_url=aimock)
    yield made
    await made.aclose()


async def complete(provider: AnthropicProvider, *messages: JsonObject) -> tuple[list[ModelEvent], Stopped]:
    events, error = await outcome(provider, request(*messages, model=MODEL, thinking=True))
    assert error is None
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    return events, stopped


def text(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_thinking_text_and_two_parallel_calls_then_the_answer(provider: AnthropicProvider) -> None:
    """M1 M4 and REQ-G1: aimock refuses a history whose thinking was dropped."""
    asked = user("What is the weather in Paris and Lyon?")
    events, stopped = await complete(provider, asked)
    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == (
        "The user wants the weather of two cities."
    )
    assert BlockEnded("c2lnbmVkLWJ5LXRoZS1tb2Nr") in events
    assert text(events) == "Let me look that up."
    assert {event.id for event in events if isinstance(event, ToolInputDelta)} == {"toolu_01A", "toolu_01B"}
    assert stopped == Stopped(
        reason="tool_use",
        content=(
            {
                "type": "thinking",
                "thinking": "The user wants the weather of two cities.",
                "signature": "c2lnbmVkLWJ5LXRoZS1tb2Nr",
            },
            {"type": "text", "text": "Let me look that up."},
            {"type": "tool_use", "id": "toolu_01A", "name": "find", "input": PARIS},
            {"type": "tool_use", "id": "toolu_01B", "name": "find", "input": {"city": "Lyon"}},
        ),
        usage=Usage(input_tokens=120, output_tokens=45),
        model=MODEL,
    )
    results: list[JsonObject] = [
        {"type": "tool_result", "tool_use_id": call_id, "content": [{"type": "text", "text": degrees}]}
        for call_id, degrees in (("toolu_01A", "21"), ("toolu_01B", "19"))
    ]
    answers: JsonObject = {"role": "user", "content": [*results]}
    answer, last = await complete(provider, asked, {"role": "assistant", "content": [*stopped.content]}, answers)
    assert text(answer) == "Paris 21°C 🌤, Lyon 19°C."
    assert (last.reason, last.usage) == ("end_turn", Usage(input_tokens=180, output_tokens=12))


@pytest.mark.parametrize(("asked", "reason"), [("too long", "max_tokens"), ("refuse", "refusal")])
async def test_an_early_end_names_its_reason(provider: AnthropicProvider, asked: str, reason: str) -> None:
    """REQ-G3"""
    _, stopped = await complete(provider, user(asked))
    assert stopped.reason == reason


@pytest.mark.parametrize(
    ("asked", "kind", "retry_after"),
    [("overload me", "upstream", None), ("rate me", "rate_limited", 7), ("disconnect me", "upstream", None)],
)
async def test_a_failure_is_typed(
    provider: AnthropicProvider, asked: str, kind: str, retry_after: float | None
) -> None:
    """M1 M2, REQ-H8"""
    events, error = await outcome(provider, request(user(asked), model=MODEL))
    assert error is not None
    assert (error.kind, error.retry_after) == (kind, retry_after)
    assert not any(isinstance(event, Stopped) for event in events)
    assert "sk-ant" not in str(error)


async def test_a_history_without_its_thinking_is_refused(provider: AnthropicProvider) -> None:
    """M4"""
    call: JsonObject = {"type": "tool_use", "id": "toolu_01B", "name": "find", "input": {"city": "Lyon"}}
    result: JsonObject = {"type": "tool_result", "tool_use_id": "toolu_01B", "content": "19"}
    asked: JsonObject = {"role": "assistant", "content": [call]}
    answers: JsonObject = {"role": "user", "content": [result]}
    history = (user("weather in Paris"), asked, answers)
    _, error = await outcome(provider, request(*history, model=MODEL, thinking=True))
    assert error is not None
    assert error.kind == "invalid"


async def test_a_turn_over_it_sends_back_its_thoughts_and_the_next_one_is_answered(provider: AnthropicProvider) -> None:
    """FR19 FR20, REQ-G1: two calls at once, thinking before them, each step from the checkpoint's JSON."""
    asked: list[JsonObject] = []

    @tool(repeat="safe")
    async def find(city: str, unit: str = "", id: int = 0) -> Json:  # noqa: A002 - the mock's word
        """Find the weather."""
        asked.append({"city": city, "unit": unit, "id": id})
        return 21

    async with await Records.in_memory() as records:
        made = Assistant(name="bench", title="Bench", instructions="Answer.", tools=(find,), thinking=True)
        rig = ProviderRig(records=records, outside=Outside(), made=made)
        rig.choose = lambda _assistant, _request: Chosen(provider, MODEL)
        await rig.begin("What is the weather in Paris and Lyon?")
        first = await rig.run(NO_SCRIPT, slice_ms=0)
        frames = await rig.frames()
        await rig.begin("And now?", run_id=NEXT_ID)
        second = await rig.run(NO_SCRIPT, run_id=NEXT_ID)

    said = "".join(str(dict(frame)["delta"]) for frame in frames if frame["type"] == "text-delta")
    assert (first[-1].status, second[-1].status) == ("completed", "completed")
    assert said == "Let me look that up. Paris 21°C 🌤, Lyon 19°C."
    assert asked == [PARIS, {"city": "Lyon", "unit": "", "id": 0}]
