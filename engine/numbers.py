"""JSON as a model writes it and as a browser can read it.

A model's tool input may hold any number; a browser's are doubles. The tool gets the exact digits, the reader gets integers
beyond 2^53 as strings, and what is no finite number is refused instead of guessed (FR41, FR42). Text in it follows engine/text.py.
"""

import json
import math
from typing import cast

from engine.text import whole_json
from protocol.json import Json, JsonObject

SAFE_INTEGER = 2**53 - 1  # the largest integer a double holds exactly (ECMA-262, Number.MAX_SAFE_INTEGER)
MAX_DIGITS = 4_300  # CPython's own limit for int(text); a longer number is nobody's id


class UnreadableInput(ValueError):
    """The input is not a JSON object that can be read. The message is for who wrote it."""


def parse_input(text: str) -> JsonObject:
    """A JSON object from its text. Empty text is an empty object; of a repeated key the last one counts."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_int=_integer, parse_float=_number, parse_constant=_constant)
        if not isinstance(value, dict):
            raise UnreadableInput("the input is not a JSON object")
        return cast("JsonObject", whole_json(value))
    except RecursionError:
        raise UnreadableInput("the input is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise UnreadableInput(f"the input is not JSON: {error.msg} at character {error.pos}") from None


def for_browser(value: Json) -> Json:
    """The same value with integers that a double would round written as strings."""
    match value:
        case bool():
            return value
        case int() if abs(value) > SAFE_INTEGER:
            return str(value)
        case list():
            return [for_browser(item) for item in value]
        case dict():
            return {key: for_browser(item) for key, item in value.items()}
        case _:
            return value


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise UnreadableInput(f"a number of {len(digits)} digits is too long")
    return int(digits)


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise UnreadableInput("a number is out of range")
    return number


def _constant(name: str) -> float:
    raise UnreadableInput(f"{name} is not a number that JSON knows")
