"""Text as it may be kept: the one rule for every text that comes in, from a person, a model, a tool or a client.

 - Two halves of a surrogate pair become the character they spell, wherever they were cut; a half that stays alone becomes U+FFFD,
   the replacement character.
 - So do the control characters (C0, DEL, C1) but tab, line feed, carriage return and U+0085, which break lines.
 - Everything else stays as it is: nothing is composed, folded, trimmed or reordered.

Because of what stands behind us: a database that takes no U+0000, encoders that take no half, terminals and event stream readers
that act on controls. Where it is applied, stream, checkpoint, records and prompt hold the same text. The rule is applied once, by
whoever lets the text in; twice changes nothing. An id is not made fit but refused (records/text.py): two owners must not become one.
"""

import re
from collections.abc import Callable

from protocol.json import Json

REPLACEMENT = "\ufffd"

_HALF = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_UNFIT = re.compile(f"{_HALF.pattern}|{_CONTROL.pattern}")


def joined(held: str, text: str) -> tuple[str, str]:
    """What can be shown of `held` and `text` together, and the half character that has to wait for its other half."""
    text = held + text
    if not _UNFIT.search(text):
        return text, ""  # nearly every delta
    held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    return whole(text[: len(text) - len(held)]), held


def whole(text: str) -> str:
    """The text by the rules above."""
    return _CONTROL.sub(REPLACEMENT, paired(text)) if _UNFIT.search(text) else text


def paired(text: str) -> str:
    """The text with pairs joined and lone halves replaced, its controls untouched: for what a provider has signed."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_json(value: Json, rule: Callable[[str], str] = whole) -> Json:
    """The value with the rule applied to every text in it. Of keys that become equal the last one counts."""
    match value:
        case str():
            return rule(value)
        case list():
            return [whole_json(item, rule) for item in value]
        case dict():
            return {rule(key): whole_json(item, rule) for key, item in value.items()}
        case _:
            return value
