"""What the Messages API refuses, as far as a well-meaning client can run into it: one reason, in its words.

Pure but for one memory: the thoughts it signed, and the messages before which it did, because newer models take a thought
only where it was had (`Signed`).
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

Message = dict[str, Any]

PARAMETERS = {
    "model", "max_tokens", "messages", "stream", "system", "tools", "tool_choice", "thinking", "speed", "container",
    "metadata", "stop_sequences", "service_tier", "output_config", "cache_control",
}  # fmt: skip
BETA_PARAMETERS = {"context_management": "compact-2026-01-12"}
BINDING_BETA, FAST_BETA = "thinking-binding-controls-2026-08-01", "fast-mode-2026-02-01"
_THOUGHTS = ("thinking", "redacted_thinking")
_ROLES = {"user", "assistant"}
_TOOL = re.compile(r"[a-zA-Z0-9_-]{1,128}")


@dataclass(slots=True)
class Signed:
    """`thoughts`: what was signed with a signature, and what stood before it. `paused`: messages that may come back last."""

    thoughts: dict[str, tuple[str, str]] = field(default_factory=dict)
    paused: list[str] = field(default_factory=list)

    def sign(self, request: Message, blocks: Sequence[Message], *, paused: bool) -> None:
        """Remember what an answer to this request may send back."""
        before = _prefix(request, len(request["messages"]))
        for block in blocks:
            if block.get("signature"):
                self.thoughts[block["signature"]] = (str(block.get("thinking")), before)
        if paused:
            self.paused.append(_plain([block for block in blocks if block.get("text") != ""]))

    def misfits(self, request: Message) -> list[str]:
        """The places of thoughts that were had before other messages."""
        return [
            f"messages.{number}.content.{at}"
            for number, message in enumerate(request["messages"])
            for at, block in enumerate(_content(message))
            if block.get("signature") and self.thoughts[block["signature"]][1] != _prefix(request, number)
        ]


def complaint(request: Message, betas: set[str], signed: Signed) -> str:
    """Why this request is refused; empty where it is not."""
    checks = (_parameters(request, betas), _forms(request, betas), _shape(request), _calls(request))
    for check in (*checks, _served(request), _thoughts(request, betas, signed), _last(request, signed)):
        for reason in check:
            return reason
    return ""


def _parameters(request: Message, betas: set[str]) -> Iterator[str]:
    if sampling := sorted({"temperature", "top_p", "top_k"} & request.keys()):
        yield f"{sampling[0]}: sampling parameters are not supported by this model"
    allowed = PARAMETERS | {name for name, beta in BETA_PARAMETERS.items() if beta in betas}
    if unknown := sorted(request.keys() - allowed):
        yield f"{unknown[0]}: Extra inputs are not permitted"
    if missing := sorted({"model", "max_tokens", "messages"} - request.keys()):
        yield f"{missing[0]}: Field required"
    if request["max_tokens"] < 1:
        yield "max_tokens: must be greater than or equal to 1"
    if json.dumps(request).count('"cache_control"') > 4:
        yield "A maximum of 4 blocks with cache_control may be provided."
    names = [tool["name"] for tool in request.get("tools", [])]
    if len(set(names)) < len(names) or any(not _TOOL.fullmatch(name) for name in names):
        yield "tools: Tool names must be unique and match ^[a-zA-Z0-9_-]{1,128}$"
    if "tool_choice" in request and not names:
        yield "tool_choice: may only be specified while providing tools"


def _forms(request: Message, betas: set[str]) -> Iterator[str]:
    """What one model takes and another does not."""
    model, thinking = request["model"], request.get("thinking", {"type": "disabled"})
    old = re.match(r"claude-(3|(opus|sonnet)-4(-[015]|-2)|haiku-4)", model) is not None
    if thinking["type"] == ("adaptive" if old else "enabled"):
        yield f"thinking.type.{thinking['type']}: not supported by {model}"
    if thinking["type"] == "enabled" and not 1024 <= thinking["budget_tokens"] < request["max_tokens"]:
        yield "thinking.enabled.budget_tokens: must be at least 1024 and less than max_tokens"
    if "block_binding" in thinking and BINDING_BETA not in betas:
        yield "thinking.block_binding: Extra inputs are not permitted"
    if "speed" in request:
        needs_beta = re.match(r"claude-opus-(4-8|5(?!-5))", model) is not None
        if not needs_beta and not re.match(r"claude-(opus-5-5|fable-5-2)", model):
            yield f"speed: not supported by {model}"
        if needs_beta and FAST_BETA not in betas:
            yield "speed: Extra inputs are not permitted"


def _shape(request: Message) -> Iterator[str]:
    messages = request["messages"]
    if not messages or messages[0]["role"] != "user":
        yield "messages: first message must use the user role"
    for number, message in enumerate(messages):
        if message["role"] not in _ROLES:
            yield f"messages.{number}.role: Input should be 'user' or 'assistant'"
        if not _content(message):
            yield f"messages.{number}: all messages must have non-empty content"
        for at, block in enumerate(_content(message)):
            if block["type"] == "text" and not block["text"].strip():
                yield f"messages.{number}.content.{at}: text content blocks must be non-empty"
            if block["type"] in _THOUGHTS and "cache_control" in block:
                yield f"messages.{number}.content.{at}: thinking blocks cannot be marked with cache_control"


def _calls(request: Message) -> Iterator[str]:
    asked: list[str] = []
    known: set[str] = set()
    for number, (role, content) in enumerate(_turns(request)):
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        if role == "user" and [block["type"] for block in content[: len(results)]] != ["tool_result"] * len(results):
            yield f"messages.{number}: tool_result blocks must come first"
        if sorted(results) != sorted(asked):
            word = "tool_use` ids were found without `tool_result` blocks immediately after"
            yield (
                f"messages.{number}: `{word}"
                if asked
                else f"messages.{number}: unexpected `tool_use_id` in tool_result"
            )
        asked = [block["id"] for block in content if block["type"] == "tool_use"]
        if len(set(asked)) < len(asked) or known & set(asked):
            yield f"messages.{number}: `tool_use` ids must be unique"
        known |= set(asked)
    if asked:
        yield "`tool_use` ids were found without `tool_result` blocks immediately after"
    if known and not request.get("tools"):
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools"


def _served(request: Message) -> Iterator[str]:
    turns = list(_turns(request))
    for number, (_, content) in enumerate(turns):
        calls = [block["id"] for block in content if block["type"] in ("server_tool_use", "mcp_tool_use")]
        results = [block["tool_use_id"] for block in content if _is_served_result(block)]
        if set(results) - set(calls):
            yield f"messages.{number}: unexpected `tool_use_id` in a server tool's result"
        if set(calls) - set(results) and number < len(turns) - 1:
            yield f"messages.{number}: a server tool was used without a corresponding result"


def _thoughts(request: Message, betas: set[str], signed: Signed) -> Iterator[str]:
    for message in request["messages"]:
        for block in _content(message):
            if block["type"] == "thinking" and not block.get("signature"):
                yield "thinking.signature: Field required"
            if block.get("signature") and signed.thoughts.get(block["signature"], ("",))[0] != str(
                block.get("thinking")
            ):
                yield "Invalid `signature` in `thinking` block"
    for number, (role, content) in enumerate(list(_turns(request))[:-1]):
        if role == "assistant" and content[-1]["type"] in _THOUGHTS:
            yield f"messages.{number}: The final block in an assistant message cannot be `thinking`."
    binding = request.get("thinking", {}).get("block_binding", {}) if BINDING_BETA in betas else {}
    if binding.get("prefix_mismatch_behavior") != "drop_block" and _binds(request["model"]):
        yield from (f"{place}: The block is bound to a different conversation" for place in signed.misfits(request))


def _last(request: Message, signed: Signed) -> Iterator[str]:
    last = request["messages"][-1]
    if last["role"] == "assistant" and _plain(_content(last)) not in signed.paused:
        yield "This model does not support assistant message prefill. The conversation must end with a user message."


def _binds(model: str) -> bool:
    return re.match(r"claude-(opus-5-5|fable-5-[12])", model) is not None


def _is_served_result(block: Message) -> bool:
    return str(block["type"]).endswith("_tool_result")


def _turns(request: Message) -> Iterator[tuple[str, list[Message]]]:
    """Messages of one role that follow each other are one."""
    for role, messages in groupby(request["messages"], key=lambda message: str(message["role"])):
        yield role, [block for message in messages for block in _content(message)]


def _content(message: Message) -> list[Message]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _prefix(request: Message, end: int) -> str:
    return _plain([request.get("system"), request.get("tools"), *request["messages"][:end]])


def _plain(value: Any) -> str:
    """As JSON, without the marks of the cache: they belong to no check."""
    return json.dumps(_unmarked(value), sort_keys=True)


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(one) for key, one in value.items() if key != "cache_control"}
    return [_unmarked(one) for one in value] if isinstance(value, list) else value
