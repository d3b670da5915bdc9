"""The body of a model call: what is sent to which model, and what the cache is told."""

from typing import Any

import pytest

from protocol.json import JsonObject
from protocol.model import ModelRequest
from providers.capabilities import Capabilities, capabilities
from providers.messages import request_body

HELLO: JsonObject = {"role": "user", "content": "Hello"}


def body(
    *messages: JsonObject, model: str = "claude-x-1", max_tokens: int = 8192, first_party: bool = True, **more: Any
) -> dict[str, Any]:
    request = ModelRequest(
        model=model, system="", messages=messages, max_tokens=max_tokens, idle_seconds=1, call_seconds=1, **more
    )
    return request_body(request, first_party=first_party)


def say(role: str, *blocks: JsonObject) -> JsonObject:
    return {"role": role, "content": [*blocks]}


def marks(sent: dict[str, Any]) -> list[str]:
    """Where the messages are marked: number of the message, number of the block."""
    return [
        f"{number}.{at}"
        for number, message in enumerate(sent["messages"])
        for at, block in enumerate(message["content"])
        if "cache_control" in block
    ]


def test_a_plain_call_holds_nothing_that_was_not_asked_for() -> None:
    """REQ-H7"""
    cached: JsonObject = {"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}
    assert body(HELLO) == {
        "model": "claude-x-1",
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": [cached]}],
    }


ADAPTIVE = {"type": "adaptive", "display": "summarized"}
DROPPING = {**ADAPTIVE, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BINDING, FAST = "thinking-binding-controls-2026-08-01", "fast-mode-2026-02-01"


@pytest.mark.parametrize(
    ("model", "thinking", "fast"),
    [
        ("claude-opus-4-8", {"thinking": ADAPTIVE}, {"speed": "fast", "betas": [FAST]}),
        ("claude-opus-5-5", {"thinking": DROPPING, "betas": [BINDING]}, {"speed": "fast"}),
        ("claude-sonnet-4-5-20250929", {"thinking": {"type": "enabled", "budget_tokens": 4096}}, {}),
        ("claude-of-a-later-day", {}, {}),
    ],
)
def test_a_model_is_asked_for_what_it_takes(model: str, thinking: dict[str, Any], fast: dict[str, Any]) -> None:
    """REQ-H7 and REQ-G8"""
    plain = body(HELLO, model=model)
    assert body(HELLO, model=model, thinking=True) == plain | thinking
    assert body(HELLO, model=model, fast=True) == plain | fast


def test_elsewhere_no_beta_is_asked_for() -> None:
    """REQ-H7"""
    plain = body(HELLO, model="anthropic.claude-opus-5-5")
    asked = body(HELLO, model="anthropic.claude-opus-5-5", first_party=False, thinking=True, fast=True, compact_at=1)
    assert asked == plain | {"thinking": ADAPTIVE}


def test_thinking_that_leaves_no_room_for_an_answer_is_not_asked_for() -> None:
    assert "thinking" not in body(HELLO, model="claude-sonnet-4-5", max_tokens=1024, thinking=True)


def test_the_longest_known_name_decides_wherever_it_is_spelled() -> None:
    budget, fast = Capabilities(thinking="budget"), Capabilities(thinking="adaptive", fast="beta", compacts=True)
    assert capabilities("claude-opus-4-20250514") == capabilities("us.anthropic.claude-opus-4-20250514-v1:0") == budget
    assert capabilities("claude-opus-4-8") == capabilities("claude-opus-4-8@20260401") == fast
    assert capabilities("claude-opus-41") == Capabilities()


def test_thinking_is_never_a_breakpoint() -> None:
    """REQ-G7: a paused turn ends in the assistant's message, whose thinking may not be marked."""
    said = say("assistant", {"type": "text", "text": "So."}, {"type": "redacted_thinking"})
    assert body(HELLO, said)["messages"][-1]["content"] == [
        {"type": "text", "text": "So.", "cache_control": {"type": "ephemeral"}},
        {"type": "redacted_thinking"},
    ]


def test_what_the_call_before_marked_last_is_marked_again() -> None:
    """REQ-G7: a step may hold more blocks than the provider looks back from a mark."""
    history = [HELLO]
    assert marks(body(*history)) == ["0.0"]
    for step in range(3):
        calls: list[JsonObject] = [
            {"type": "tool_use", "id": f"{step}.{at}", "name": "find", "input": {}} for at in range(30)
        ]
        results: list[JsonObject] = [{"type": "tool_result", "tool_use_id": str(call["id"])} for call in calls]
        before = marks(body(*history))[-1]
        history += [say("assistant", *calls), say("user", *results)]
        assert marks(body(*history)) == [before, f"{len(history) - 1}.29"]


def test_calls_in_the_history_are_never_sent_without_tools() -> None:
    """REQ-H7: an assistant that lost its tools goes on, and calls none."""
    call: JsonObject = {"type": "tool_use", "id": "a", "name": "find", "input": {}}
    result: JsonObject = {"type": "tool_result", "tool_use_id": "a"}
    sent = body(HELLO, say("assistant", call), say("user", result))
    assert [tool["name"] for tool in sent["tools"]] == ["find"]
    assert sent["tool_choice"] == {"type": "none"}


def test_a_summary_is_asked_for_and_sent_back_only_where_it_is_known() -> None:
    """Elsewhere the messages that it stands for are sent: they are all there."""
    summary: JsonObject = {"type": "compaction", "content": "They said hello."}
    history = (HELLO, say("assistant", summary, {"type": "text", "text": "Yes?"}), HELLO)
    asked = body(*history, model="claude-opus-5", compact_at=100_000)
    assert asked["context_management"] == {
        "edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 100_000}}]
    }
    assert asked["betas"] == body(*history, model="claude-opus-5")["betas"] == ["compact-2026-01-12"]
    assert asked["messages"][1]["content"][0] == summary
    plain = body(*history, model="claude-sonnet-4-5", compact_at=100_000)
    assert "betas" not in plain
    assert [block["type"] for block in plain["messages"][1]["content"]] == ["text"]
    assert [message["role"] for message in body(HELLO, say("assistant", summary), HELLO)["messages"]] == [
        "user",
        "user",
    ]
