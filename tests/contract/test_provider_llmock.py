"""The Anthropic adapter, and turns through it, against llmock, a fake upstream that we did not write."""

from collections.abc import AsyncIterator

import pytest

from protocol.json import JsonObject
from protocol.model import Stopped, TextDelta
from providers.anthropic import AnthropicProvider
from records.records import Records
from records.values import Key, Span
from runner.parts import Chosen
from tests.contract.llmock import LLMock
from tests.contract.llmock import llmock as llmock  # noqa: PLC0414 - a fixture: pytest finds it by this name
from tests.contract.providers import outcome, request
from tests.provider_bench import NEXT_ID, NO_SCRIPT
from tests.rig import RUN_ID, Rig

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]  # its environment is installed by the first run

MODEL = "claude-haiku-4-5"
SAYS: JsonObject = {"type": "reply", "text": "One two three four five six seven."}
CALLS: JsonObject = {"type": "reply", "tool_calls": [{"name": "send", "arguments": {"text": "é🌍"}}]}


def fault(kind: str, **more: int) -> JsonObject:
    return {"type": "stream_fault", "kind": kind, "after_chunks": 3, **more}


@pytest.fixture
async def provider(llmock: LLMock) -> AsyncIterator[AnthropicProvider]:
    made = AnthropicProvider("test", base_url=llmock.url)
    yield made
    await made.aclose()


async def test_what_it_says_is_the_message(llmock: LLMock, provider: AnthropicProvider) -> None:
    """M1 M4: pings stand among its events."""
    llmock.script(SAYS)
    events, error = await outcome(provider, request(model=MODEL))
    assert error is None
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    assert (stopped.reason, stopped.content) == ("end_turn", ({"type": "text", "text": SAYS["text"]},))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == SAYS["text"]


@pytest.mark.parametrize(
    ("broken", "kind", "retry_after"),
    [
        (fault("disconnect"), "upstream", None),
        (fault("truncate"), "upstream", None),
        (fault("malformed"), "upstream", None),
        (fault("stall", stall_seconds=30), "timeout", None),
        ({"type": "fail", "status": 429, "retry_after": 3}, "rate_limited", 3),
        ({"type": "fail", "status": 529}, "upstream", 1),
        ({"type": "fail", "status": 401}, "not_configured", None),
    ],
)
async def test_what_it_breaks_is_one_typed_error(
    llmock: LLMock, provider: AnthropicProvider, broken: JsonObject, kind: str, retry_after: float | None
) -> None:
    """M1 M2 FR52 REQ-H8"""
    llmock.script(SAYS, broken)
    events, error = await outcome(provider, request(model=MODEL, seconds=1))
    assert error is not None
    assert (error.kind, error.retry_after) == (kind, retry_after)
    assert not any(isinstance(event, Stopped) for event in events)


@pytest.mark.parametrize(
    ("behaviors", "status", "effects"),
    [
        ((CALLS, SAYS), "completed", 1),
        ((CALLS, fault("disconnect")), "failed", 0),
        ((CALLS, fault("truncate")), "failed", 0),
        ((CALLS, {"type": "tool_fault", "kind": "malformed_arguments"}), "completed", 0),
        (({"type": "tool_fault", "kind": "unknown_tool"},), "completed", 0),
    ],
)
async def test_a_turn_over_it_ends_and_the_next_one_is_answered(
    llmock: LLMock, provider: AnthropicProvider, behaviors: tuple[JsonObject, ...], status: str, effects: int
) -> None:
    """LAW-P1 FR26 FR52 FR54: a broken call is not carried out, one that is whole is carried out once."""
    llmock.script(*behaviors)
    async with await Records.in_memory() as records:
        rig = Rig(records=records, choose=lambda _assistant, _request: Chosen(provider, MODEL))
        await rig.begin("Send it.")
        first = await rig.run(NO_SCRIPT)
        llmock.script(SAYS)
        await rig.begin("And now?", run_id=NEXT_ID)
        second = await rig.run(NO_SCRIPT, run_id=NEXT_ID)
        messages = await records.messages(Key(owner="ada", conversation_id="talk"), Span())
    assert (first[-1].status, second[-1].status, len(rig.outside.effects)) == (status, "completed", effects)
    assert messages is not None
    assert [message.role for message in messages] == ["user", "assistant"] * 2
    assert (await rig.frames(RUN_ID))[-1]["type"] == "finish"
