"""Text as it may be stored: whole characters only.

A provider may cut an escaped pair of surrogates between two deltas. The first half waits for the second; a half that stays
alone becomes U+FFFD, the replacement character, because nothing behind us takes it: no file, no database, no other library.
"""

from protocol.json import Json

REPLACEMENT = "\ufffd"


def joined(held: str, text: str) -> tuple[str, str]:
    """What can be shown of `held` and `text` together, and the half character that has to wait."""
    if not held and text.isascii():
        return text, ""  # nearly every delta
    text = held + text
    held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    return whole(text[: len(text) - len(held)]), held


def whole(text: str) -> str:
    """The text with pairs joined and lone halves replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def whole_json(value: Json) -> Json:
    """The value with every text in it made whole."""
    match value:
        case str():
            return whole(value)
        case list():
            return [whole_json(item) for item in value]
        case dict():
            return {whole(key): whole_json(item) for key, item in value.items()}
        case _:
            return value
