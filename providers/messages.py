"""The body of a Messages API call, from a model request. Pure; never alters the history it is given.

What repeats from call to call stands first and is marked for the provider's cache: the tools, the system prompt, and the
history up to its last block (REQ-G7). No sampling parameters, and nothing that the model is known to reject (REQ-H7).
"""

from collections.abc import Sequence
from typing import Any

from protocol.json import JsonObject
from protocol.model import ModelRequest
from providers.capabilities import capabilities
from providers.history import blocks

FAST_BETA = "fast-mode-2026-02-01"
MIN_BUDGET = 1_024  # the least the provider takes for thinking; it must stay below max_tokens

_CACHED: JsonObject = {"type": "ephemeral"}
_UNCACHEABLE = {"thinking", "redacted_thinking"}  # a breakpoint on these is refused


def request_body(request: ModelRequest) -> dict[str, Any]:
    """The keyword arguments of `messages.create`, all but `stream`."""
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": _messages(request.messages),
    }
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
    if request.tools:
        tools = [tool.model_dump(mode="json") for tool in request.tools]
        body["tools"] = [*tools[:-1], {**tools[-1], "cache_control": _CACHED}]
    return body | _thinking(request) | _speed(request)


def _messages(messages: Sequence[JsonObject]) -> list[JsonObject]:
    if not messages:
        return []
    content = list(blocks(messages[-1]))
    for at in range(len(content) - 1, -1, -1):
        if content[at].get("type") not in _UNCACHEABLE:
            content[at] = {**content[at], "cache_control": _CACHED}
            break
    return [*messages[:-1], {**messages[-1], "content": [*content]}]


def _thinking(request: ModelRequest) -> dict[str, Any]:
    if not request.thinking:
        return {}
    match capabilities(request.model).thinking:
        case "adaptive":
            # Summarised, not omitted: silent thinking is not told from a model that hangs.
            return {"thinking": {"type": "adaptive", "display": "summarized"}}
        case "budget" if request.max_tokens > MIN_BUDGET:
            budget = max(MIN_BUDGET, request.max_tokens // 2)
            return {"thinking": {"type": "enabled", "budget_tokens": budget}}
        case _:
            return {}


def _speed(request: ModelRequest) -> dict[str, Any]:
    fast = capabilities(request.model).fast
    if not request.fast or fast == "no":
        return {}
    return {"speed": "fast"} | ({"extra_headers": {"anthropic-beta": FAST_BETA}} if fast == "beta" else {})
