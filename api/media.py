"""What a file is, by its content. What its sender calls it does not count: the type decides what a browser and a model do."""

import re
from typing import Final

_MARKS: Final[dict[bytes, str]] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}
TYPES: Final = (*sorted({*_MARKS.values(), "image/webp"}), "text/plain")

_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
_NAME: Final = re.compile(r'[\x00-\x1f\x7f\ud800-\udfff"<>|:*?]')


def media_type_of(content: bytes) -> str | None:
    """One of TYPES; None where it is none of them. Markup and code are plain text."""
    for mark, media_type in _MARKS.items():
        if content.startswith(mark):
            return media_type
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return "text/plain" if _is_text(content) else None


def name_of(given: str) -> str:
    """A name to show and to save it under: the last word of a path, without what no file is called."""
    last = re.split(r"[/\\]", given)[-1]
    return _NAME.sub("_", last).strip(" .")[:200] or "file"


def _is_text(content: bytes) -> bool:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return False
    return bool(text.strip()) and _UNPRINTABLE.search(text) is None
