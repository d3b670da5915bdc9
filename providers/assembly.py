"""Puts one streamed message of the Messages API together: wire events in, port events out, the finished blocks at the end.

Pure. Blocks are kept as they were sent; what is unknown is kept and not shown. Every block is complete characters only: a
half of a surrogate pair at the end of a delta waits for its other half (M5). An event that cannot be read raises ValueError,
KeyError, TypeError or AttributeError: the caller treats it as a broken stream.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from protocol.json import Json, JsonObject
from protocol.model import BlockEnded, ModelEvent, Stopped, StopReason, TextDelta, ThinkingDelta, ToolInputDelta, Usage
from providers.history import tool_input

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "pause_turn": "pause_turn",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_window",
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN = {"text": "text", "thinking": "thinking"}  # type of a block: where it keeps its text


@dataclass(slots=True)
class _Block:
    """The block that is arriving. `shown` says whether a reader has seen anything of it."""

    index: int
    kept: JsonObject
    fragments: list[str] = field(default_factory=list)  # of its text, or of the JSON of its input
    half: str = ""
    shown: bool = False

    @property
    def kind(self) -> Json:
        return self.kept["type"]


class Assembly:
    """One message. Feed it every event of the stream in order."""

    def __init__(self) -> None:
        self._open: _Block | None = None
        self._content: list[JsonObject] = []
        self._usage = Usage()
        self._model = ""
        self._reason = ""
        self._ended = False

    @property
    def usage(self) -> Usage:
        """What was counted so far."""
        return self._usage

    def feed(self, event: JsonObject) -> Iterator[ModelEvent]:
        """What a reader sees of this event."""
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self._model = str(message.get("model") or "")
                self._count(message.get("usage"))
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                yield from self._end_block()
                yield from self._begin_block(index, block)
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)}:
                if self._open is None or self._open.index != index:
                    raise ValueError("a delta of a block that is not open")
                yield from _delta(self._open, delta)
            case {"type": "content_block_stop"}:
                yield from self._end_block()
            case {"type": "message_delta", "delta": dict(delta)}:
                self._reason = str(delta.get("stop_reason") or self._reason)
                self._count(event.get("usage"))
            case {"type": "message_stop"}:
                yield from self._end_block()
                self._ended = True
            case _:
                return  # an event of a later day

    def finished(self) -> Stopped | None:
        """The complete message; None where the stream ended before it was (M1)."""
        if not self._ended or not self._reason:
            return None
        reason = _STOP_REASONS.get(self._reason, "end_turn")  # an unknown reason is as final as any
        return Stopped(reason=reason, content=tuple(self._content), usage=self._usage, model=self._model)

    def _count(self, usage: Json) -> None:
        """Counts are cumulative; one that is left out keeps its last value."""
        if not isinstance(usage, dict):
            return
        names = {
            "input_tokens": "input_tokens",
            "output_tokens": "output_tokens",
            "cache_read_input_tokens": "cache_read_tokens",
            "cache_creation_input_tokens": "cache_write_tokens",
        }
        known = {ours: usage[theirs] for theirs, ours in names.items() if isinstance(usage.get(theirs), int)}
        self._usage = self._usage.model_copy(update=known)

    def _begin_block(self, index: int, block: JsonObject) -> Iterator[ModelEvent]:
        self._open = opened = _Block(index, {key: value for key, value in block.items() if value is not None})
        where = _SHOWN.get(str(opened.kind))
        if where is not None:
            yield from _show(opened, str(block.get(where) or ""))
        elif opened.kind == "tool_use":
            opened.shown = True
            yield ToolInputDelta(str(block["id"]), str(block["name"]), "")

    def _end_block(self) -> Iterator[ModelEvent]:
        block, self._open = self._open, None
        if block is None:
            return
        if block.half:
            yield from _show(block, "", last=True)
        where = _SHOWN.get(str(block.kind))
        if where is not None:
            block.kept[where] = "".join(block.fragments)
        elif block.fragments:
            block.kept["input"] = tool_input(block.fragments)
        elif block.kind == "tool_use" and block.kept.get("input"):
            # Some gateways send the whole input with the start.
            yield ToolInputDelta(str(block.kept["id"]), str(block.kept["name"]), json.dumps(block.kept["input"]))
        if block.kind != "text" or str(block.kept["text"]).strip():  # an empty text block is refused when sent back
            self._content.append(block.kept)
        if block.shown:
            signature = block.kept.get("signature")
            yield BlockEnded(signature if isinstance(signature, str) else None)


def _delta(block: _Block, delta: JsonObject) -> Iterator[ModelEvent]:
    match delta:
        case {"type": "text_delta", "text": str(text)} | {"type": "thinking_delta", "thinking": str(text)}:
            yield from _show(block, text)
        case {"type": "input_json_delta", "partial_json": str(text)}:
            yield from _show(block, text)
        case {"type": "signature_delta", "signature": str(signature)}:
            block.kept["signature"] = signature
        case {"type": "citations_delta", "citation": citation}:
            known = block.kept.get("citations")
            block.kept["citations"] = [*(known if isinstance(known, list) else []), citation]
        case {"type": "text_delta" | "thinking_delta" | "input_json_delta" | "signature_delta"}:
            raise ValueError("a delta without its text")
        case _:
            return  # a delta of a later day


def _show(block: _Block, text: str, *, last: bool = False) -> Iterator[ModelEvent]:
    text, block.half = _whole(block.half + text, last=last)
    if not text:
        return
    block.fragments.append(text)
    match block.kind:
        case "text":
            block.shown = True
            yield TextDelta(text)
        case "thinking":
            block.shown = True
            yield ThinkingDelta(text)
        case "tool_use":
            yield ToolInputDelta(str(block.kept["id"]), str(block.kept["name"]), text)
        case _:
            return


def _whole(text: str, *, last: bool) -> tuple[str, str]:
    """The text up to its last complete character, and what is left of a character begun. Lone halves become U+FFFD."""
    half = text[-1] if text and not last and "\ud800" <= text[-1] <= "\udbff" else ""
    text = text[: len(text) - len(half)]
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text, half
