"""The strict upstream is strict: each thing that the real one refuses, refused, and the request beside it accepted."""

from typing import Any

import pytest

from tests.fakes.anthropic_rules import BINDING_BETA, FAST_BETA, Signed, complaint

Message = dict[str, Any]

TOOLS = [{"name": "find", "description": "Find.", "input_schema": {"type": "object"}}]
CALL = {"type": "tool_use", "id": "a", "name": "find", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": []}
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


def text(said: str = "Yes.") -> Message:
    return {"type": "text", "text": said}


def user(*blocks: Message) -> Message:
    return {"role": "user", "content": [*blocks] or [text()]}


def model(*blocks: Message) -> Message:
    return {"role": "assistant", "content": [*blocks]}


def request(*messages: Message, **more: Any) -> Message:
    plain = {"model": "claude-fable-5-2", "max_tokens": 100, "messages": [*messages] or [user()], "tools": TOOLS}
    return plain | more


def told(asked: Message, *betas: str, signed: Signed | None = None) -> str:
    return complaint(asked, set(betas), signed or Signed())


ACCEPTED = {
    "plain": request(),
    "calls and results": request(
        user(), model(CALL, {**CALL, "id": "b"}), user(RESULT, {**RESULT, "tool_use_id": "b"}, text())
    ),
    "a served call over a pause": request(user(), model(SEARCH), model(FOUND, text()), user()),
    "two messages of one role": request(user(), user()),
}

REFUSED = {
    "sampling": (request(temperature=1), "temperature: sampling"),
    "an unknown parameter": (request(colour="red"), "colour: Extra inputs"),
    "a beta parameter without its beta": (request(context_management={}), "context_management: Extra inputs"),
    "no room to answer": (request(max_tokens=0), "max_tokens"),
    "five breakpoints": (request(user(*[{**text(), "cache_control": {}}] * 5)), "A maximum of 4 blocks"),
    "two tools of one name": (request(tools=TOOLS * 2), "tools: Tool names"),
    "a choice among no tools": (request(tools=[], tool_choice={}), "tool_choice"),
    "thinking by budget": (request(thinking={"type": "enabled", "budget_tokens": 50}), "thinking.type.enabled"),
    "too much thinking": (
        request(model="claude-sonnet-4-5", thinking={"type": "enabled", "budget_tokens": 2000}), "thinking.enabled.budget"),
    "binding without its beta": (request(thinking={"type": "adaptive", "block_binding": {}}), "thinking.block_binding"),
    "a speed the model has not": (request(model="claude-sonnet-5", speed="fast"), "speed: not supported"),
    "a speed without its beta": (request(model="claude-opus-5", speed="fast"), "speed: Extra inputs"),
    "no message": (request(messages=[]), "messages: first message"),
    "the model first": (request(model(text()), user()), "messages: first message"),
    "a role of another kind": (request(user(), {"role": "system", "content": [text()]}), "messages.1.role"),
    "an empty message": (request(user(), model(), user()), "messages.1: all messages must have non-empty"),
    "blanks": (request(user(text("\n "))), "messages.0.content.0: text content blocks"),
    "an unanswered call": (request(user(), model(CALL), user()), "messages.2: `tool_use` ids were found"),
    "an unanswered call at the end": (request(user(), model(CALL)), "`tool_use` ids were found"),
    "half of the answers": (request(user(), model(CALL, {**CALL, "id": "b"}), user(RESULT)), "messages.2: `tool_use` ids"),
    "an answer to nothing": (request(user(RESULT)), "messages.0: unexpected `tool_use_id`"),
    "words before the answer": (request(user(), model(CALL), user(text(), RESULT)), "messages.2: tool_result blocks must"),
    "one id for two calls": (request(user(), model(CALL, CALL), user(RESULT, RESULT)), "messages.1: `tool_use` ids must be"),
    "calls without tools": (request(user(), model(CALL), user(RESULT), tools=[]), "Requests which include"),
    "a served call without a result": (request(user(), model(SEARCH), user()), "messages.1: a server tool"),
    "a served result without a call": (request(user(), model(FOUND, text()), user()), "messages.1: unexpected"),
    "a thought without a signature": (request(user(), model({**THOUGHT, "signature": ""}, text()), user()), "thinking.sign"),
    "a thought of nobody": (request(user(), model(THOUGHT, text()), user()), "Invalid `signature`"),
    "prefill": (request(user(), model(text())), "This model does not support assistant message prefill"),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_well_formed_is_accepted(name: str) -> None:
    assert told(ACCEPTED[name]) == ""


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_api_refuses_is_refused(name: str) -> None:
    asked, reason = REFUSED[name]
    assert told(asked)[: len(reason)] == reason


def test_a_thought_goes_back_as_it_came_and_where_it_was_had() -> None:
    signed = Signed()
    first = request(user())
    signed.sign(first, [THOUGHT, text()], paused=False)
    later = request(user(), model(THOUGHT, text()), user())
    assert told(later, signed=signed) == ""
    assert told(request(user(), model({**THOUGHT, "thinking": "Ha."}, text()), user()), signed=signed)[:7] == "Invalid"
    assert told(request(user(), model(text(), THOUGHT), user()), signed=signed)[:28] == "messages.1: The final block "
    moved = {**later, "system": "Rhyme."}
    assert told(moved, signed=signed) == "messages.1.content.0: The block is bound to a different conversation"
    dropping = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert told({**moved, "thinking": dropping}, BINDING_BETA, signed=signed) == ""
    assert told({**moved, "model": "claude-sonnet-5"}, signed=signed) == ""  # which does not bind its thoughts
    marked = {**text(), "cache_control": {"type": "ephemeral"}}
    assert told(request(user(marked), model(THOUGHT, text()), user()), signed=signed) == ""


def test_a_paused_message_may_come_last() -> None:
    signed = Signed()
    signed.sign(request(user()), [text(), SEARCH], paused=True)
    assert told(request(user(), model(text(), SEARCH)), signed=signed) == ""
    assert told(request(user(), model(text())), signed=signed)[:10] == "This model"


def test_fast_mode_is_accepted_where_there_is_one() -> None:
    assert told(request(model="claude-opus-5", speed="fast"), FAST_BETA) == told(request(speed="fast")) == ""
