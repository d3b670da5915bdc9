"""Request bodies: bytes to a JSON object, by our own rules.

Read raw whatever the content type says, because one published client posts JSON as text/plain and a framework that looks
at the type answers it 422. Refused: more bytes than the limit (413), and as `invalid` what is not one JSON object in
UTF-8, nests deeper than the limit, or holds a number that JSON has no word for.
"""

import json
import math
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, cast

from protocol.errors import TurnkeepError
from protocol.json import JsonObject

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


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
    if not body:
        return {}
    try:
        value = json.loads(body.decode(), parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        raise TurnkeepError("invalid", "The body is not JSON.") from None
    if not isinstance(value, dict):
        raise TurnkeepError("invalid", "The body is not a JSON object.")
    if _deeper_than(value, depth):
        raise TurnkeepError("invalid", f"The body nests deeper than {depth} levels.")
    return cast("JsonObject", value)


def storable(text: str) -> str:
    """The text with what no database and no model takes, NUL and lone surrogates, replaced by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def _refuse(word: str) -> None:
    raise ValueError(word)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(digits)
    return number


def _deeper_than(value: object, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [child for node in level for child in _children(node) if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _children(node: object) -> list[object]:
    return list(node.values()) if isinstance(node, dict) else cast("list[object]", node)
