"""The blocks that messages of the history are made of, as `protocol/model.py` has them: their kinds, and how to read them."""

from collections.abc import Iterator

from protocol.json import JsonObject

THOUGHTS = frozenset({"thinking", "redacted_thinking"})
SERVED_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})  # of tools that the provider runs


def blocks(message: JsonObject) -> Iterator[JsonObject]:
    """The blocks of a message; content that is a plain string counts as one text block."""
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))
