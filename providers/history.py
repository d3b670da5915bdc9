"""Reading and writing the history that goes to a model: where a turn begins, what was asked, what a call's input says.

History has the shape of `protocol/model.py`. Nothing here changes a message; nothing here knows a provider.
"""

from collections.abc import Iterable, Sequence

from engine.blocks import THOUGHTS, blocks
from engine.numbers import UnreadableInput, parse_input
from protocol.json import JsonObject


def text_of(message: JsonObject) -> str:
    """All text of a message, blocks joined by a blank line."""
    return "\n\n".join(str(block.get("text", "")) for block in blocks(message) if block.get("type") == "text")


def turn_start(messages: Sequence[JsonObject]) -> int:
    """The index of the last user message with words of a person, -1 without one.

    Results of tools may stand before the words: a turn that ended in mid-tool has the next question in the same message,
    because providers want the roles to alternate.
    """
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.get("role") == "user" and any(block.get("type") != "tool_result" for block in blocks(message)):
            return index
    return -1


def question(messages: Sequence[JsonObject]) -> str:
    """What the person asked in this turn."""
    start = turn_start(messages)
    return text_of(messages[start]) if start >= 0 else ""


def calls_made(messages: Sequence[JsonObject], history_start: int | None = None) -> int:
    """How many model calls of this turn are in the history, which is the number of the next one, from 0.

    `history_start` is where the turn's own messages begin, where that is known.
    """
    start = turn_start(messages) + 1 if history_start is None else history_start
    return sum(message.get("role") == "assistant" for message in messages[start:])


def tool_results(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """The tool results that the next model call answers to: those of the last message."""
    return [block for block in blocks(messages[-1]) if block.get("type") == "tool_result"] if messages else []


def tools_used(messages: Sequence[JsonObject]) -> list[str]:
    """The names of the tools that calls in the history are of, each once, in the order of their first call."""
    calls = (block for message in messages for block in blocks(message) if block.get("type") == "tool_use")
    return list(dict.fromkeys(str(call["name"]) for call in calls))


def without_thoughts(messages: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
    """The messages without thinking; one that was nothing else goes as well."""
    kept = [
        (message, [block for block in blocks(message) if block.get("type") not in THOUGHTS]) for message in messages
    ]
    return tuple({**message, "content": [*content]} for message, content in kept if content)


def passages(messages: Sequence[JsonObject]) -> list[str]:
    """The reference material of this turn's question, best first: its `search_result` blocks.

    A block of its own kind, because a person can write any text but no such block.
    """
    start = turn_start(messages)
    found = blocks(messages[start]) if start >= 0 else iter(())
    return [text_of(block) for block in found if block.get("type") == "search_result"]


def tool_input(fragments: Iterable[str]) -> JsonObject:
    """A call's input for the history, with every digit of its integers; {} where it could not be sent back.

    Who runs the tool reads the fragments too, and tells the model what was wrong with them.
    """
    try:
        return parse_input("".join(fragments))
    except UnreadableInput:
        return {}
