"""Amazon's framing of events, `application/vnd.amazon.eventstream`, as Bedrock's `InvokeModelWithResponseStream` uses it.

    total length, length of the headers, CRC of these eight bytes | headers | payload | CRC of everything before

All numbers are 32 bits, big-endian. A header is the length of its name, its name, 7 for a string, the length of the string in
16 bits, the string.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from struct import pack, unpack_from
from typing import Any
from zlib import crc32

PRELUDE = 12  # bytes


def framed(headers: bytes, payload: bytes) -> bytes:
    """A frame with right sums, whatever is in it."""
    begun = pack(">II", PRELUDE + len(headers) + len(payload) + 4, len(headers))
    whole = begun + pack(">I", crc32(begun)) + headers + payload
    return whole + pack(">I", crc32(whole))


def chunk(event: Mapping[str, Any]) -> bytes:
    """A frame with one event of the Messages API, and padding, which hides how long that is."""
    said = base64.b64encode(json.dumps(event, ensure_ascii=False).encode("utf-8", "surrogatepass")).decode()
    return _frame({":event-type": "chunk", ":message-type": "event"}, {"bytes": said, "p": "abcdefgh"})


def exception(kind: str, message: str) -> bytes:
    """A frame that is an error, after which nothing comes."""
    return _frame({":exception-type": kind, ":message-type": "exception"}, {"message": message})


def chunks(body: bytes) -> Iterator[Any]:
    """The events in a body, up to where it is cut or makes no sense."""
    with suppress(ValueError):
        while len(body) >= PRELUDE:
            length, headers = unpack_from(">II", body)
            if not PRELUDE < length <= len(body):
                return
            payload = json.loads(body[PRELUDE + headers : length - 4])
            if "bytes" in payload:
                yield json.loads(base64.b64decode(payload["bytes"]))
            body = body[length:]


def _frame(headers: Mapping[str, str], payload: object) -> bytes:
    named = {**headers, ":content-type": "application/json"}
    return framed(b"".join(_header(*one) for one in named.items()), json.dumps(payload).encode())


def _header(name: str, value: str) -> bytes:
    return pack(">B", len(name)) + name.encode() + pack(">BH", 7, len(value)) + value.encode()
