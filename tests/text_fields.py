"""The table of fields that hold somebody's text: a field, and what was found of it in each place after a turn.

A field of a frame, of a request or of an input that is in neither `FIELDS` nor `OURS` fails `tests/unit/test_text_fields.py`.
"""

import json
from collections.abc import Callable
from typing import Any

from tests.text_turn import ASKED, DENIED, Carried

Found = Callable[[Carried], dict[str, Any]]

# Texts that are ours, names of files (of which `api/media.py` leaves what a file can be called), names from a fixed set, ids that are refused where they are not plain, what a provider has signed, and JSON as
# text: pieces of what a model wrote, in which a character may be spelled by its number.
OURS = {
    "abort.reason", "data-config", "data-context", "data-error", "data-handoff", "data-loop", "data-question", "data-recovering",
    "data-reply", "data-run", "data-trace", "data-usage", "data-void", "data-rate-limited", "data-model-fallback", "*.sourceId", "*.mediaType", "request.tier", "error.errorText", "finish.finishReason", "*.type", "*.id",
    "*.messageId", "*.approvalId", "*.toolCallId", "*.toolName", "*-end.providerMetadata", "tool-input-delta.inputTextDelta",
    "data-citations", "data-sources",  # nothing makes these frames yet
    "request.run_id", "request.conversation_id", "request.message_id", "request.user_message_id", "request.owner", "request.tenant",
    "request.assistant", "request.script", "request.files", "input.id", "input.type", "input.target",
}  # fmt: skip


def _tool_part(parts: Any, call: str) -> Any:
    return next(part for part in parts if part.get("toolCallId") == call)


def _part(parts: Any, kind: str) -> Any:
    return next(part for part in parts if part["type"] == kind)


def _frame(turn: Carried, kind: str, call: str = "") -> Any:
    return next(frame for frame in turn.frames if frame["type"] == kind and frame.get("toolCallId", call) == call)


FIELDS: dict[str, Found] = {
    "title": lambda turn: {"records": turn.title},
    "request.text": lambda turn: {
        "records": turn.stored[0][0]["text"],
        "prompt": turn.prompts[0][-1]["content"][0]["text"],
    },
    "request.stateless_history": lambda turn: {"request": turn.claimed},
    "text-delta.delta": lambda turn: {
        **{name: _part(parts, "text")["text"] for name, parts in turn.messages.items()},
        "frames": "".join(f["delta"] for f in turn.frames if f["type"] == "text-delta" and f["id"] == "t1"),
        "prompt": turn.block("text", 1)["text"],
        "next turn": _part(turn.next_turn[0]["content"], "text")["text"],
    },
    "reasoning-delta.delta": lambda turn: {
        **{name: _part(parts, "reasoning")["text"] for name, parts in turn.messages.items()},
        "prompt": turn.block("thinking")["thinking"],
    },
    "tool-input-available.input": lambda turn: {
        **{name: _tool_part(parts, "c1.0")["input"]["value"] for name, parts in turn.messages.items()},
        **{
            f"key in {name}": next(iter(_tool_part(parts, "c1.0")["input"]["at"]))
            for name, parts in turn.messages.items()
        },
        "tool": turn.given["value"],
        "key for the tool": next(iter(turn.given["at"])),
        "prompt": turn.block("tool_use")["input"]["value"],
    },
    "tool-output-available.output": lambda turn: {
        **{name: _tool_part(parts, "c1.0")["output"]["value"] for name, parts in turn.messages.items()},
        **{
            f"key in {name}": next(iter(_tool_part(parts, "c1.0")["output"]["at"]))
            for name, parts in turn.messages.items()
        },
        "text": _tool_part(turn.stored[1], "c1.4")["output"],
        "prompt": json.loads(turn.block("tool_result")["content"][0]["text"])["value"],
        "text in prompt": turn.block("tool_result", 4)["content"][0]["text"],
    },
    "tool-output-error.errorText": lambda turn: {
        **{
            name: _tool_part(parts, "c1.1")["errorText"].removeprefix("The tool failed: ValueError: ")
            for name, parts in turn.messages.items()
        },
        "prompt": turn.block("tool_result", 1)["content"][0]["text"].removeprefix("The tool failed: ValueError: "),
    },
    "tool-approval-response.reason": lambda turn: {
        **{name: _tool_part(parts, DENIED)["approval"]["reason"] for name, parts in turn.messages.items()},
        "prompt": turn.block("tool_result", 2)["content"][0]["text"].partition("They said: ")[2],
    },
    "input.text": lambda turn: {"frames": _frame(turn, "tool-approval-response")["reason"]},
    "input.value": lambda turn: {
        **{name: _tool_part(parts, ASKED)["output"] for name, parts in turn.messages.items()},
        "prompt": turn.block("tool_result", 3)["content"][0]["text"],
    },
    "steering-message.parts": lambda turn: {
        "frames": _frame(turn, "steering-message")["parts"][0]["text"],
        "prompt": turn.prompts[1][-1]["content"][-1]["text"],
    },
    "data-tool-progress": lambda turn: {
        "key in frames": next(iter(_frame(turn, "data-tool-progress")["data"]["progress"])),
        "frames": next(iter(_frame(turn, "data-tool-progress")["data"]["progress"].values())),
    },
    "source-document.title": lambda turn: {
        name: _part(parts, "source-document")["title"] for name, parts in turn.messages.items()
    },
    "source-url.title": lambda turn: {
        name: _part(parts, "source-url")["title"] for name, parts in turn.messages.items()
    },
    "source-url.url": lambda turn: {name: _part(parts, "source-url")["url"] for name, parts in turn.messages.items()},
    "data-artifact": lambda turn: (
        {
            f"{field} in {name}": _part(parts, "data-artifact")["data"][field]
            for name, parts in turn.messages.items()
            for field in ("kind", "title", "url")
        }
        | {
            name: next(iter(_part(parts, "data-artifact")["data"]["content"].values()))
            for name, parts in turn.messages.items()
        }
    ),
    "data-suggested-prompts": lambda turn: {
        "stream": _part(turn.message.parts, "data-suggested-prompts")["data"]["prompts"][0],
        "records": _part(turn.stored[1], "data-suggested-prompts")["data"]["prompts"][0],
    },
}
