"""The body of a model call: what is sent to which model, and what the cache is told."""

from typing import Any

import pytest

from protocol.json import JsonObject
from protocol.model import ModelRequest
from providers.capabilities import Capabilities, capabilities
from providers.messages import request_body

HELLO: JsonObject = {"role": "user", "content": "Hello"}


def body(
    *messages: JsonObject, model: str = "claude-x-1", max_tokens: int = 8192, thinking: bool = False, fast: bool = False
) -> dict[str, Any]:
    request = ModelRequest(
        model=model,
        system="",
        messages=messages,
        max_tokens=max_tokens,
        idle_seconds=1,
        call_seconds=1,
        thinking=thinking,
        fast=fast,
    )
    return request_body(request)


def test_a_plain_call_holds_nothing_that_was_not_asked_for() -> None:
    """REQ-H7"""
    cached: JsonObject = {"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}
    assert body(HELLO) == {
        "model": "claude-x-1",
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": [cached]}],
    }


@pytest.mark.parametrize(
    ("model", "thinking", "fast"),
    [
        ("claude-opus-4-8", {"thinking": {"type": "adaptive", "display": "summarized"}},
         {"speed": "fast", "extra_headers": {"anthropic-beta": "fast-mode-2026-02-01"}}),
        ("claude-opus-5-5", {"thinking": {"type": "adaptive", "display": "summarized"}}, {"speed": "fast"}),
        ("claude-sonnet-4-5-20250929", {"thinking": {"type": "enabled", "budget_tokens": 4096}}, {}),
        ("claude-of-a-later-day", {}, {}),
    ],
)  # fmt: skip
def test_a_model_is_asked_for_what_it_takes(model: str, thinking: dict[str, Any], fast: dict[str, Any]) -> None:
    """REQ-H7 and REQ-G8"""
    plain = body(HELLO, model=model)
    assert body(HELLO, model=model, thinking=True) == plain | thinking
    assert body(HELLO, model=model, fast=True) == plain | fast


def test_thinking_that_leaves_no_room_for_an_answer_is_not_asked_for() -> None:
    assert "thinking" not in body(HELLO, model="claude-sonnet-4-5", max_tokens=1024, thinking=True)


def test_the_longest_known_name_decides() -> None:
    assert capabilities("claude-opus-4-20250514") == Capabilities("budget")
    assert capabilities("claude-opus-4-8") == Capabilities("adaptive", "beta")
    assert capabilities("claude-opus-41") == Capabilities()


def test_thinking_is_never_a_breakpoint() -> None:
    """REQ-G7: a paused turn ends in the assistant's message, whose thinking may not be marked."""
    said: JsonObject = {
        "role": "assistant",
        "content": [{"type": "text", "text": "So."}, {"type": "redacted_thinking"}],
    }
    assert body(HELLO, said)["messages"][-1]["content"] == [
        {"type": "text", "text": "So.", "cache_control": {"type": "ephemeral"}},
        {"type": "redacted_thinking"},
    ]
