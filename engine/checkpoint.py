"""A turn's state as JSON, written as one base and then what each boundary added.

The cost of a checkpoint follows what the step added, not how long the conversation is: history and message parts are cut to
what changed, everything else is small and written whole.
"""

import json
import zlib
from typing import Any, cast

from protocol.checkpoint import Message, TurnState
from protocol.json import JsonObject

COMPRESS_ABOVE = 4_096  # bytes; below it compression saves less than it costs
_COMPRESSED = b"z"  # first byte of a compressed document; JSON begins with "{"


def snapshot(state: TurnState) -> bytes:
    """The whole state."""
    return _document(state, 0, 0)


def delta(before: TurnState, after: TurnState) -> bytes:
    """What must be added to the documents that gave `before` so that they give `after`."""
    return _document(after, _common(before.history, after.history), _common(before.message.parts, after.message.parts))


def restore(documents: tuple[bytes, ...]) -> TurnState:
    """The state that a base and its deltas give. Raises ValueError on a version this build does not know."""
    history: list[JsonObject] = []
    parts: list[JsonObject] = []
    head: dict[str, Any] = {}
    for document in documents:
        value = _unpack(document)
        if value.get("v") != 1:
            raise ValueError(f"checkpoint version {value.get('v')!r} is not known here")
        head = value["state"]
        history[value["history_from"] :] = value["history"]
        parts[value["parts_from"] :] = value["parts"]
    message = Message(id=head.pop("message_id"), parts=tuple(parts))
    return TurnState(**head, message=message, history=tuple(history))


def _document(state: TurnState, history_from: int, parts_from: int) -> bytes:
    head = state.model_dump(mode="json", exclude={"history", "message"}) | {"message_id": state.message.id}
    value = {
        "v": 1,
        "state": head,
        "history_from": history_from,
        "history": state.history[history_from:],
        "parts_from": parts_from,
        "parts": state.message.parts[parts_from:],
    }
    text = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    return _COMPRESSED + zlib.compress(text, 1) if len(text) > COMPRESS_ABOVE else text


def _common(before: tuple[JsonObject, ...], after: tuple[JsonObject, ...]) -> int:
    """How many items from the start are the same. Mostly they are the very same object, which costs nothing to see."""
    same = 0
    for old, new in zip(before, after, strict=False):
        if old is not new and old != new:
            break
        same += 1
    return same


def _unpack(document: bytes) -> dict[str, Any]:
    text = zlib.decompress(document[1:]) if document.startswith(_COMPRESSED) else document
    return cast("dict[str, Any]", json.loads(text))
