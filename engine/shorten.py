r"""A value that is too large for a frame, as a frame holds it: its beginning, its size, and what names the whole.

    {"shortened": {"bytes": 812345, "reference": "c1.0"}, "beginning": "[{\"id\": 1, …"}

`bytes` counts the value as UTF-8: a text as it is, everything else as JSON. `reference` is left out where the whole is not kept.
"""

import json

from protocol.json import Json

MAX_BYTES = 65_536  # of a value; escaped for a frame it at most triples and stays below a frame's 256 KB


def written(value: Json) -> str:
    """The text of a value: a string as it is, everything else as JSON with exact digits."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)


def size(value: Json) -> int:
    """Its bytes."""
    return len(written(value).encode())


def shortened(value: Json, reference: str = "") -> Json:
    """The value where it fits, else what stands for it. `reference` names the kept whole; "" where it is not kept."""
    encoded = written(value).encode()
    if len(encoded) <= MAX_BYTES:
        return value
    shortening: dict[str, Json] = {"bytes": len(encoded)}
    if reference:
        shortening["reference"] = reference
    return {"shortened": shortening, "beginning": encoded[:MAX_BYTES].decode(errors="ignore")}
