"""What a provider's API asks of a history, written from its documentation and not from our code."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from protocol.json import JsonObject


def broken_rules(messages: Sequence[JsonObject]) -> list[str]:
    """Why the API would refuse these messages; empty where it takes them."""
    checked: list[dict[str, Any]] = [dict(message) for message in messages]
    broken = [*_roles(checked), *_calls(checked), *_served(checked)]
    for number, message in enumerate(checked):
        broken += [f"{number}: {rule}" for rule in _content(message)]
    return broken


def _roles(messages: list[dict[str, Any]]) -> Iterator[str]:
    roles = [message["role"] for message in messages]
    if not roles or roles[0] != "user":
        yield "the first message is the user's"
    if roles[-1:] != ["user"]:
        yield "no prefill"
    if any(pair == ("user", "user") for pair in pairwise(roles)):
        yield "one user message at a time"


def _calls(messages: list[dict[str, Any]]) -> Iterator[str]:
    asked: list[str] = []
    known: set[str] = set()
    for number, message in enumerate(messages):
        blocks = message["content"]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(results) != sorted(asked):
            yield f"{number}: every tool_use has exactly one tool_result in the next message, and no other has"
        if [block["type"] for block in blocks[: len(results)]] != ["tool_result"] * len(results):
            yield f"{number}: results stand first"
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(asked)) < len(asked) or known & set(asked):
            yield f"{number}: ids are unique"
        known |= set(asked)
        if any(not isinstance(block["input"], dict) for block in blocks if block["type"] == "tool_use"):
            yield f"{number}: an input is an object"


def _served(messages: list[dict[str, Any]]) -> Iterator[str]:
    blocks = [block for message in messages for block in message["content"]]
    called = {block["id"] for block in blocks if block["type"] == "server_tool_use"}
    answered = {block["tool_use_id"] for block in blocks if block["type"] == "web_search_tool_result"}
    if called != answered:
        yield "a provider's call and its result come together"


def _content(message: dict[str, Any]) -> Iterator[str]:
    blocks = message["content"]
    inner = [part for block in blocks if block["type"] == "tool_result" for part in block["content"]]
    if not blocks:
        yield "content is not empty"
    if any(block["type"] == "text" and not block["text"].strip() for block in (*blocks, *inner)):
        yield "text is not empty"
    if any(block["type"] == "thinking" and not block.get("signature") for block in blocks):
        yield "thinking is signed"
    if any(block["type"] == "redacted_thinking" and not block.get("data") for block in blocks):
        yield "redacted thinking has its data"
    if blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        yield "thinking is not the last block"
    if message["role"] == "assistant" and any(block["type"] == "tool_result" for block in blocks):
        yield "results are the user's"
    if message["role"] == "user" and any(block["type"] in ("tool_use", "thinking") for block in blocks):
        yield "calls and thoughts are the model's"
