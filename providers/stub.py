"""A model that needs no network and no key: it quotes the source material it was given, or says that there is none.

Deterministic and honest: it never answers from itself. It is what a deployment without a key falls back to (REQ-H4, REQ-H5).
It calls no tools and does not read what tools answered.
"""

import re
from collections.abc import AsyncIterator, Sequence

from protocol.json import JsonObject
from protocol.model import BlockEnded, ModelEvent, ModelRequest, Stopped, TextDelta
from providers.history import passages

MODEL = "stub-chat-v1"
NO_MATERIAL = "I have no source material on this, and no model is connected that could answer without it."
QUOTE_LENGTH = 600  # characters: a paragraph, so that the quote can be read at a glance

_WORD = re.compile(r"\S+\s*|\s+")


class StubProvider:
    """Quotes the top passage of the request."""

    name = "stub"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        found = passages(request.messages)
        text = f"The source material says: “{quote(found[0], QUOTE_LENGTH)}”" if found else NO_MATERIAL
        for word in _WORD.findall(text):
            yield TextDelta(word)
        yield BlockEnded()
        content: tuple[JsonObject, ...] = ({"type": "text", "text": text},)
        yield Stopped(reason="end_turn", content=content, model=MODEL)


def can_quote(messages: Sequence[JsonObject]) -> bool:
    """Whether there is a passage to quote in answer to these messages."""
    return bool(passages(messages))


def quote(passage: str, length: int) -> str:
    """The beginning of a passage on one line, cut at a sentence or else at a word."""
    line = " ".join(passage.split())
    if len(line) <= length:
        return line
    head = line[:length]
    sentence = max(head.rfind(mark) for mark in (". ", "! ", "? "))
    return head[: sentence + 1] if sentence > length // 3 else head.rpartition(" ")[0] + " …"
