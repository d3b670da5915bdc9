"""One content block of a streamed message: what is shown of it while it arrives, and what is kept of it.

What is kept is what was sent, unknown blocks and unknown deltas included, because it is sent back. What cannot be read
raises ValueError, KeyError or TypeError: the caller treats it as a broken stream.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.blocks import SERVED_CALLS
from engine.text import paired
from protocol.json import Json, JsonObject
from protocol.model import Compacted, ModelEvent, ServedCall, TextDelta, ThinkingDelta, ToolInputDelta
from providers.history import tool_input
from providers.served import cited, is_served_result, served_result

_SHOWN = {"text": "text", "thinking": "thinking"}  # type of a block: where it keeps its text
_OF_BLOCK = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking"}


@dataclass(slots=True)
class Block:
    """The block that is arriving. `shown` says whether a reader has seen anything of it."""

    index: int
    kept: JsonObject
    shown: bool = False
    _fragments: list[str] = field(default_factory=list)  # of its text, or of the JSON of its input
    _signature: list[str] = field(default_factory=list)
    _half: str = ""

    @property
    def kind(self) -> str:
        return str(self.kept["type"])

    @property
    def call_id(self) -> str | None:
        """The id of the call that it is; None where it is none."""
        if self.kind != "tool_use" and self.kind not in SERVED_CALLS:
            return None
        for key in ("id", "name"):
            if not isinstance(self.kept[key], str) or not self.kept[key]:
                raise ValueError("a call without an id or a name")
        return str(self.kept["id"])

    @property
    def signature(self) -> str | None:
        signature = self.kept.get("signature")
        return signature if isinstance(signature, str) and signature else None

    def begin(self) -> Iterator[ModelEvent]:
        """What its first event shows."""
        where = _SHOWN.get(self.kind)
        if where is not None:
            yield from self._show(str(self.kept.get(where) or ""))
            yield from (source for one in _list(self.kept.get("citations")) for source in cited(one))
        elif self.kind == "tool_use":
            self.shown = True
            yield ToolInputDelta(str(self.kept["id"]), str(self.kept["name"]), "")
        elif self.kind == "compaction":
            yield Compacted()
        elif is_served_result(self.kept):
            yield served_result(self.kept)

    def add(self, delta: JsonObject) -> Iterator[ModelEvent]:
        """What one more delta shows."""
        if _OF_BLOCK.get(str(delta.get("type")), self.kind) != self.kind:
            raise ValueError("a delta of another kind of block")
        match delta:
            case {"type": "text_delta", "text": str(text)} | {"type": "thinking_delta", "thinking": str(text)}:
                yield from self._show(text)
            case {"type": "input_json_delta", "partial_json": str(text)}:
                yield from self._show(text)
            case {"type": "signature_delta", "signature": str(signature)}:
                self._signature.append(signature)
            case {"type": "citations_delta", "citation": dict(citation)}:
                self.kept["citations"] = [*_list(self.kept.get("citations")), citation]
                yield from cited(citation)
            case {"type": "text_delta" | "thinking_delta" | "input_json_delta" | "signature_delta" | "citations_delta"}:
                raise ValueError("a delta without its text")
            case _:
                self._keep(delta)

    def end(self) -> Iterator[ModelEvent]:
        """What is still to be shown, now that it is complete."""
        if self._half:
            yield from self._show("", last=True)
        if self._signature:
            self.kept["signature"] = "".join(self._signature)
        where = _SHOWN.get(self.kind)
        if where is not None:
            self.kept[where] = "".join(self._fragments)
        elif self._fragments:
            self.kept["input"] = tool_input(self._fragments)
        elif self.kind == "tool_use" and self.kept.get("input"):
            # Some gateways send the whole input with the start.
            yield ToolInputDelta(str(self.kept["id"]), str(self.kept["name"]), json.dumps(self.kept["input"]))
        json.dumps(self.kept, allow_nan=False)  # ValueError: what cannot be stored is no message
        if self.kind in SERVED_CALLS:
            given = self.kept.get("input")
            yield ServedCall(str(self.kept["id"]), str(self.kept["name"]), given if isinstance(given, dict) else {})

    def _keep(self, delta: JsonObject) -> None:
        """A delta of a later day: its texts go on, of all else the last word counts."""
        for key, value in delta.items():
            known = self.kept.get(key)
            if key == "type" or value is None:
                continue
            self.kept[key] = known + value if isinstance(known, str) and isinstance(value, str) else value

    def _show(self, text: str, *, last: bool = False) -> Iterator[ModelEvent]:
        text, self._half = _whole(self._half + text, last=last)
        if not text:
            return
        self._fragments.append(text)
        match self.kind:
            case "text":
                self.shown = True
                yield TextDelta(text)
            case "thinking":
                self.shown = True
                yield ThinkingDelta(text)
            case "tool_use":
                yield ToolInputDelta(str(self.kept["id"]), str(self.kept["name"]), text)
            case _:
                return


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _whole(text: str, *, last: bool) -> tuple[str, str]:
    """The text up to its last complete character, and what is left of a character begun. Lone halves become U+FFFD."""
    half = text[-1] if text and not last and "\ud800" <= text[-1] <= "\udbff" else ""
    return paired(text[: len(text) - len(half)]), half
