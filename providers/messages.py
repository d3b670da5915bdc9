"""The body of a Messages API call, from a model request. Pure; never alters the history it is given.

What repeats from call to call stands first and is marked for the provider's cache: the tools, the system prompt, the history
up to where the call before ended, and up to its last block (REQ-G7). The mark in the middle is there because the provider
looks back twenty blocks from a mark and no further, and a step may be longer. No sampling parameters, and nothing that the
model is known to reject (REQ-H7).
"""

from collections.abc import Sequence
from typing import Any

from engine.blocks import blocks
from protocol.json import JsonObject
from protocol.model import ModelRequest
from providers.capabilities import capabilities
from providers.history import tools_used

FAST_BETA = "fast-mode-2026-02-01"
BINDING_BETA = "thinking-binding-controls-2026-08-01"
COMPACTION_BETA = "compact-2026-01-12"
MIN_BUDGET = 1_024  # the least the provider takes for thinking; it must stay below max_tokens
MIN_COMPACTION = 50_000  # tokens; the least the provider takes

_CACHED: JsonObject = {"type": "ephemeral"}
_CACHEABLE = {"text", "image", "document", "search_result", "tool_use", "tool_result"}  # a mark on thinking is refused


def request_body(request: ModelRequest, *, first_party: bool = True) -> dict[str, Any]:
    """The keyword arguments of `messages.create`, all but `stream`; with `betas` those of the beta interface.

    Elsewhere than at Anthropic's own address (`first_party`) no beta feature is asked for: other clouds refuse them.
    """
    compacts = first_party and capabilities(request.model).compacts
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": _messages(request.messages, compacted=compacts),
    }
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
    if request.container:
        body["container"] = request.container
    parts = [_tools(request), _thinking(request, first_party=first_party)]
    parts += [_speed(request)] if first_party else []
    parts += [_compaction(request)] if compacts else []
    betas = [beta for part in parts for beta in part.pop("betas", [])]
    for part in parts:
        body |= part
    return body | ({"betas": betas} if betas else {})


def _messages(messages: Sequence[JsonObject], *, compacted: bool) -> list[JsonObject]:
    """The history, marked, and without summaries where the model would not know what they are: all they stand for is there."""
    sent = list(messages) if compacted else [_without_summary(message) for message in messages]
    sent = [message for message in sent if message["content"]]
    said = [at for at, message in enumerate(sent) if message["role"] == "assistant"]
    ends = {len(sent) - 1, said[-1] - 1 if said else -1} - {-1}
    return [_marked(message) if at in ends else message for at, message in enumerate(sent)]


def _without_summary(message: JsonObject) -> JsonObject:
    kept = [block for block in blocks(message) if block.get("type") != "compaction"]
    return message if len(kept) == sum(1 for _ in blocks(message)) else {**message, "content": [*kept]}


def _marked(message: JsonObject) -> JsonObject:
    content = list(blocks(message))
    for at in range(len(content) - 1, -1, -1):
        if content[at].get("type") in _CACHEABLE:
            content[at] = {**content[at], "cache_control": _CACHED}
            break
    return {**message, "content": [*content]}


def _tools(request: ModelRequest) -> dict[str, Any]:
    tools = [*(tool.model_dump(mode="json") for tool in request.tools), *request.served_tools]
    choice: dict[str, Any] = {}
    if not tools:
        # An assistant that lost its tools goes on with what it did with them: calls without tools are refused.
        tools = [
            {"name": name, "description": "Not offered any more.", "input_schema": {"type": "object"}}
            for name in tools_used(request.messages)
        ]
        choice = {"tool_choice": {"type": "none"}}
    return {"tools": [*tools[:-1], {**tools[-1], "cache_control": _CACHED}]} | choice if tools else {}


def _thinking(request: ModelRequest, *, first_party: bool) -> dict[str, Any]:
    if not request.thinking:
        return {}
    known = capabilities(request.model)
    match known.thinking:
        case "adaptive":
            # Summarised, not omitted: silent thinking is not told from a model that hangs.
            asked: dict[str, Any] = {"type": "adaptive", "display": "summarized"}
        case "budget" if request.max_tokens > MIN_BUDGET:
            asked = {"type": "enabled", "budget_tokens": max(MIN_BUDGET, request.max_tokens // 2)}
        case _:
            return {}
    if not (known.bound and first_party):
        return {"thinking": asked}
    # Instructions change with a deploy and old turns leave the window: a conversation must outlive both.
    asked["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    return {"thinking": asked, "betas": [BINDING_BETA]}


def _speed(request: ModelRequest) -> dict[str, Any]:
    fast = capabilities(request.model).fast
    if not request.fast or fast == "no":
        return {}
    return {"speed": "fast"} | ({"betas": [FAST_BETA]} if fast == "beta" else {})


def _compaction(request: ModelRequest) -> dict[str, Any]:
    if request.compact_at is not None:
        trigger = {"type": "input_tokens", "value": max(MIN_COMPACTION, request.compact_at)}
        edit = {"type": "compact_20260112", "trigger": trigger}
        return {"context_management": {"edits": [edit]}, "betas": [COMPACTION_BETA]}
    compacted = any(block.get("type") == "compaction" for message in request.messages for block in blocks(message))
    return {"betas": [COMPACTION_BETA]} if compacted else {}
