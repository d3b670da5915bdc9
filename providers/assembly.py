"""Puts one streamed message of the Messages API together: wire events in, port events out, the finished blocks at the end.

Pure. Every block is complete characters only: a half of a surrogate pair at the end of a delta waits for its other half (M5).
An event that cannot be read, or stands where none may, raises ValueError, KeyError, TypeError or AttributeError: the caller
treats it as a broken stream.
"""

import re
from collections.abc import Iterator

from protocol.json import Json, JsonObject
from protocol.model import BlockEnded, ModelEvent, Stopped, StopReason, TextDelta, ThinkingDelta, ToolInputDelta, Usage
from providers.blocks import Block

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "pause_turn": "pause_turn",
    "compaction": "pause_turn",  # the summary was made and nothing said yet: the same call goes on
    "refusal": "refusal",
    "model_context_window_exceeded": "context_window",
}
_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}
_MODEL = re.compile(r"[\w.:@/-]{1,128}", re.ASCII)
CHARACTERS_A_TOKEN = 4  # where the provider has not counted yet


class Assembly:
    """One message. Feed it every event of the stream in order."""

    def __init__(self) -> None:
        self.dropped = 0  # thoughts that the provider left out of the request, because they belong to another prefix
        self._open: Block | None = None
        self._content: list[JsonObject] = []
        self._calls: set[str] = set()
        self._usage = Usage()
        self._streamed = 0
        self._model = ""
        self._begun = False
        self._last: JsonObject = {}  # the provider's last word on how the message ends
        self._fast = False
        self._text_ended = (
            False  # the end of a text is held back until it is known whether the next block goes on with it
        )
        self._ended = False

    @property
    def usage(self) -> Usage:
        """What was counted so far."""
        return self._usage

    def feed(self, event: JsonObject) -> Iterator[ModelEvent]:
        """What a reader sees of this event."""
        for shown in self._feed(event):
            if isinstance(shown, TextDelta | ThinkingDelta):
                self._streamed += len(shown.text)
            elif isinstance(shown, ToolInputDelta):
                self._streamed += len(shown.json)
            yield shown

    def finished(self) -> Stopped | None:
        """The complete message; None where the stream ended before it was (M1)."""
        reason = self._last.get("stop_reason")
        if not self._ended or not reason:
            return None
        container = self._last.get("container")
        return Stopped(
            reason=_STOP_REASONS.get(str(reason), "end_turn"),  # an unknown reason is as final as any
            content=tuple(self._content),
            usage=self._usage,
            model=self._model,
            details=_details(self._last.get("stop_details")),
            fast=self._fast,
            container=str(container.get("id") or "") if isinstance(container, dict) else "",
        )

    def used(self) -> Usage:
        """What a call that broke off had used: what was counted, and output that was streamed but not yet counted."""
        output = max(self._usage.output_tokens, self._streamed // CHARACTERS_A_TOKEN)
        return self._usage.model_copy(update={"output_tokens": output})

    def _feed(self, event: JsonObject) -> Iterator[ModelEvent]:
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self._begin(message)
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                yield from self._begin_block(index, block)
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)}:
                yield from self._current(index).add(delta)
            case {"type": "content_block_stop", "index": int(index)}:
                yield from self._end_block(self._current(index))
            case {"type": "message_delta", "delta": dict(delta)}:
                self._last |= {key: value for key, value in delta.items() if value is not None}
                self._note(event)
            case {"type": "message_stop"}:
                if self._open is not None:
                    raise ValueError("the message ends inside a block")
                yield from self._end_text()
                self._ended = True
            case _:
                return  # an event of a later day

    def _begin(self, message: JsonObject) -> None:
        if self._begun:
            raise ValueError("a second message in one stream")  # a gateway started over: the text would be there twice
        self._begun = True
        model = str(message.get("model") or "")
        self._model = model if _MODEL.fullmatch(model) else ""
        self._note(message)

    def _note(self, event: JsonObject) -> None:
        """What an event says beside its content. Counts are cumulative; one that is left out keeps its last value."""
        changed = event.get("input_transformations")
        self.dropped += len(changed) if isinstance(changed, list) else 0
        usage = event.get("usage")
        if not isinstance(usage, dict):
            return
        counts = {ours: usage.get(theirs) for theirs, ours in _COUNTS.items()}
        known = {ours: count for ours, count in counts.items() if type(count) is int and count >= 0}
        self._usage = self._usage.model_copy(update=known)
        self._fast = self._fast or usage.get("speed") == "fast"

    def _current(self, index: int) -> Block:
        if self._open is None or self._open.index != index:
            raise ValueError("an event of a block that is not open")
        return self._open

    def _begin_block(self, index: int, start: JsonObject) -> Iterator[ModelEvent]:
        if self._open is not None:
            raise ValueError("a block begins inside another")
        self._open = block = Block(index, {key: value for key, value in start.items() if value is not None})
        call = block.call_id
        if call is not None:
            if call in self._calls:
                raise ValueError("two calls with one id")  # nobody could say whose result is whose
            self._calls.add(call)
        if not self._goes_on(block):
            yield from self._end_text()
        yield from block.begin()

    def _goes_on(self, block: Block) -> bool:
        """Whether it goes on with the text before it: one that cites is cut into blocks in mid-sentence."""
        cites = [isinstance(one.get("citations"), list) for one in (block.kept, *self._content[-1:])]
        return block.kind == "text" and self._text_ended and any(cites)

    def _end_block(self, block: Block) -> Iterator[ModelEvent]:
        self._open = None
        yield from block.end()
        if block.kind != "text" or str(block.kept["text"]).strip():  # an empty text block is refused when sent back
            self._content.append(block.kept)
        if block.kind == "text":
            self._text_ended = self._text_ended or block.shown
        elif block.shown:
            yield BlockEnded(block.signature)

    def _end_text(self) -> Iterator[ModelEvent]:
        if self._text_ended:
            self._text_ended = False
            yield BlockEnded()


def _details(value: Json) -> dict[str, str]:
    known = value if isinstance(value, dict) else {}
    return {key: str(known[key]) for key in ("category", "explanation") if known.get(key)}
