"""What of the history goes to a model."""

from collections.abc import Sequence

from engine.blocks import THOUGHTS
from protocol.json import JsonObject


def without_thoughts(messages: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
    """The messages without thinking blocks, as many as before.

    Thoughts are signed for one provider and for what stood before them; elsewhere, or behind a history that was cut, they
    are refused. A message that was nothing but thoughts keeps its place with a word in it, so that positions stay true.
    """
    return tuple(_without(message) for message in messages)


def _without(message: JsonObject) -> JsonObject:
    content = message["content"]
    if message["role"] != "assistant" or not isinstance(content, list):
        return message
    kept = [block for block in content if not (isinstance(block, dict) and block.get("type") in THOUGHTS)]
    if len(kept) == len(content):
        return message
    return {**message, "content": kept or [{"type": "text", "text": "…"}]}
