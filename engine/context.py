"""How much a model is told: what was said before is cut where it is too long, at a place where a turn begins (REQ-G4).

Lengths are estimates, on the long side: who counts exactly is the provider. A cut never parts a call from its result. It
changes what stands before everything else, so thoughts of earlier turns, which are signed for that, go with it; and it stays
where it is for a while as the conversation grows, because a prefix that changes with every turn is never cached.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import cast

from engine.blocks import blocks
from engine.prompt import without_thoughts
from protocol.json import Json, JsonObject

BYTES_OF_A_TOKEN = 3
ATTACHED_BYTES = 6_000  # what a picture or a page counts as, whatever its size: it is not read as text
LONG_RESULT = 400  # tokens; a longer one may be left out of a turn that grew too long
LEFT_OUT = "(This result was left out to make room. Make the call again if it is needed.)"


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left of a history, where the turn's own messages begin in it, and how many messages were left out."""

    messages: tuple[JsonObject, ...]
    start: int
    left_out: int


def tokens(messages: Sequence[JsonObject]) -> int:
    """About how many tokens these messages are."""
    return sum(_bytes(cast("Json", message)) for message in messages) // BYTES_OF_A_TOKEN


def trimmed(messages: tuple[JsonObject, ...], limit: int) -> Cut:
    """The history before a turn with its oldest turns left out, where it is longer than `limit` tokens.

    They go a quarter of the limit at a time. The question, which is the last message, always stays.
    """
    lengths = [*accumulate(map(_bytes, cast("Sequence[Json]", messages)), initial=0)]
    excess = lengths[-1] // BYTES_OF_A_TOKEN - limit
    if excess <= 0:
        return Cut(messages, len(messages), 0)
    quarter = max(1, limit // 4)
    needed = -(-excess // quarter) * quarter * BYTES_OF_A_TOKEN
    starts = [at for at, message in enumerate(messages) if _begins_turn(message)]
    at = next((at for at in starts if lengths[at] >= needed), starts[-1] if starts else 0)
    if at == 0:
        return Cut(messages, len(messages), 0)
    first, *others = messages[at:]
    kept = (_without_results(first), *without_thoughts(others))
    return Cut(kept, len(kept), at)


def squeezed(messages: tuple[JsonObject, ...], start: int) -> Cut | None:
    """The history of a turn at about half its length, because the model found it too long. None: nothing can go.

    Earlier turns go first, then long results of this turn's calls, the oldest first, but those of the last step.
    """
    half = tokens(messages) // 2
    own = list(messages[start:])
    past = trimmed(messages[:start], max(0, half - tokens(own)))
    excess = tokens(past.messages) + tokens(own) - half
    for at, message in enumerate(own[:-1]):
        if excess > 0:
            own[at] = _without_long_results(message)
            excess -= tokens([message]) - tokens([own[at]])
    cut = Cut((*past.messages, *own), past.start, past.left_out)
    return None if cut.messages == messages else cut


def _begins_turn(message: JsonObject) -> bool:
    return message["role"] == "user" and any(block.get("type") != "tool_result" for block in blocks(message))


def _without_results(message: JsonObject) -> JsonObject:
    """The first message of what is left: it answers no call any more."""
    said = [*blocks(message)]
    kept: list[Json] = [block for block in said if block.get("type") != "tool_result"]
    return message if len(kept) == len(said) else {**message, "content": kept}


def _without_long_results(message: JsonObject) -> JsonObject:
    content = [
        {**block, "content": [{"type": "text", "text": LEFT_OUT}]}
        if block.get("type") == "tool_result" and tokens([block]) > LONG_RESULT
        else block
        for block in blocks(message)
    ]
    return message if message["role"] != "user" else {**message, "content": cast("list[Json]", content)}


def _bytes(value: Json) -> int:
    match value:
        case str():
            return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
        case list():
            return sum(map(_bytes, value))
        case {"type": "base64"}:
            return ATTACHED_BYTES
        case dict():
            return sum(len(key) + 4 + _bytes(item) for key, item in value.items())
        case _:
            return 4
