"""Request bodies: bytes to a JSON object, by our own rules.

Read raw whatever the content type says, because one published client posts JSON as text/plain and a framework that looks
at the type answers it 422. Refused: more bytes than the limit (413), and as `invalid` what is not one JSON object in
UTF-8, nests deeper than the limit, or holds a number that JSON has no word for. Every text in what is read is fit to be kept
(engine/text.py), so no route needs to think of it, and lengths are counted after that.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, cast

from engine.numbers import UnreadableInput, parse_input
from protocol.errors import TurnkeepError
from protocol.json import JsonObject

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Disconnected(Exception):
    """The client went away before its request was read: there is nobody to answer."""


async def read_body(receive: Receive, limit: int, advice: str = "") -> bytes:
    """The whole body. `advice` is what to do with more.

    Raises:
        TurnkeepError: `too_large`, as soon as more than `limit` bytes arrived.
        Disconnected: the client left.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        body += message.get("body", b"")
        if len(body) > limit:
            raise TurnkeepError("too_large", f"The body may have at most {limit} bytes.{advice}")
        if not message.get("more_body", False):
            return bytes(body)


def parse_object(body: bytes, depth: int) -> JsonObject:
    """The JSON object in a body; an empty body is an empty object.

    Raises:
        TurnkeepError: `invalid`.
    """
    try:
        value = parse_input(body.decode())
    except (UnicodeDecodeError, UnreadableInput):
        # Not chained: the error would quote the body.
        raise TurnkeepError("invalid", "The body is not a JSON object in UTF-8.") from None
    if _deeper_than(value, depth):
        raise TurnkeepError("invalid", f"The body nests deeper than {depth} levels.")
    return value


def _deeper_than(value: object, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [child for node in level for child in _children(node) if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _children(node: object) -> list[object]:
    return list(node.values()) if isinstance(node, dict) else cast("list[object]", node)
