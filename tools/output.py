"""What a tool returned as JSON: strict, capped, with every digit.

One documented rule for each kind of value, so that nothing a tool returns can break a frame or a checkpoint (FR41, FR42):

    None, bool, int, str      as they are, text by the rule of engine/text.py; an int of more than 4,300 digits is refused
    float, Decimal            NaN and the infinities become null; a Decimal becomes a string, which keeps its digits
    datetime, date, time      ISO 8601; a timedelta its seconds
    bytes                     base64
    Enum                      its value; UUID and Path their text
    list, tuple, set, deque   a list; a set is sorted by its items' JSON, so that the same set always reads the same
    dict, dataclass, model    an object; keys that are not strings are spelled as JSON would, of equal ones the last counts
    numpy's and the like      what their `tolist()` or `item()` gives
    an object inside itself   the text "[circular]"; below 64 levels "[too deep]"
    anything else             NotJson, which becomes an error result. No `repr` is ever asked.
"""

import base64
import dataclasses
import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from engine.numbers import MAX_DIGITS
from engine.shorten import MAX_BYTES, written
from engine.text import whole
from protocol.json import Json

MAX_DEPTH = 64
CIRCULAR = "[circular]"
TOO_DEEP = "[too deep]"

_MAX_BITS = int(MAX_DIGITS * math.log2(10))


class NotJson(TypeError):
    """A value that no rule makes JSON of."""


def capped(text: str, limit: int = MAX_BYTES) -> str:
    """The text, cut at a character and visibly, where it is longer than `limit` bytes of UTF-8."""
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    marker = f"\n[cut here: {len(encoded):,} bytes in all]"
    return encoded[: limit - len(marker)].decode(errors="ignore") + marker


def to_json(value: object) -> Json:
    """A value as JSON by the rules above. Raises NotJson; whatever a foreign object's own code raises passes through."""
    return _convert(value, ())


def _convert(value: object, inside: tuple[int, ...]) -> Json:
    if id(value) in inside:
        return CIRCULAR
    if len(inside) > MAX_DEPTH:
        return TOO_DEEP
    for kind, rule in _RULES:
        if isinstance(value, kind):
            return rule(value, (*inside, id(value)))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return _object(fields, (*inside, id(value)))
    for method in ("tolist", "item"):
        if callable(convert := getattr(value, method, None)):
            return _convert(convert(), (*inside, id(value)))
    raise NotJson(f"a value of type {type(value).__name__} is not JSON")


def _integer(value: int, _: tuple[int, ...]) -> Json:
    if value.bit_length() > _MAX_BITS:
        raise NotJson(f"a number of more than {MAX_DIGITS} digits is too long")
    return int(value)


def _list(values: Iterable[object], inside: tuple[int, ...]) -> Json:
    return [_convert(value, inside) for value in values]


def _set(values: Iterable[object], inside: tuple[int, ...]) -> Json:
    return sorted((_convert(value, inside) for value in values), key=lambda item: json.dumps(item, sort_keys=True))


def _object(items: Iterable[tuple[object, object]], inside: tuple[int, ...]) -> Json:
    return {_key(key, inside): _convert(value, inside) for key, value in items}


def _key(key: object, inside: tuple[int, ...]) -> str:
    return written(_convert(key, inside))


Rule = Callable[[Any, tuple[int, ...]], Json]

# In order: an Enum may be an int, a bool is one, a datetime is a date.
_RULES: tuple[tuple[Any, Rule], ...] = (
    (Enum, lambda value, inside: _convert(value.value, inside)),
    ((bool, type(None)), lambda value, _: value),
    (str, lambda value, _: whole(str(value))),
    (int, _integer),
    (float, lambda value, _: float(value) if math.isfinite(value) else None),
    (Decimal, lambda value, _: str(value) if value.is_finite() else None),
    ((datetime, date, time), lambda value, _: value.isoformat()),
    (timedelta, lambda value, _: value.total_seconds()),
    ((bytes, bytearray, memoryview), lambda value, _: base64.b64encode(value).decode()),
    ((UUID, PurePath), lambda value, _: whole(str(value))),
    ((set, frozenset), _set),
    ((list, tuple, deque), _list),
    (Mapping, lambda value, inside: _object(value.items(), inside)),
    (BaseModel, lambda value, inside: _object(iter(value), inside)),
)
