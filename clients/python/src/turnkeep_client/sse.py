"""Frames out of bytes that may be cut anywhere: no I/O, only what has arrived so far.

Lines end in LF, CRLF or CR and in nothing else (str.splitlines would also cut at U+2028, which answers contain). Only an event
with an index in its own `id:` line is a frame: `[DONE]`, comments and heartbeats are none, and nothing is counted.
"""

import codecs
import re
from dataclasses import dataclass, field

LINE_END = re.compile(r"\r\n|\r|\n")
INDEX = re.compile(r"0|[1-9][0-9]{0,14}", re.ASCII)


@dataclass(slots=True)
class _Event:
    id: str = ""
    data: list[str] = field(default_factory=list)


class FrameParser:
    """Feed it bytes, get (index, data) of the frames that are complete; the rest is kept. One per connection."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()  # a character may arrive in two pieces (FR40)
        self._tail = ""
        self._after_return = False  # the last text ended in CR: an LF that follows belongs to it
        self._event = _Event()

    def feed(self, chunk: bytes) -> list[tuple[int, str]]:
        """Raises UnicodeDecodeError for bytes that are not UTF-8."""
        text = self._decoder.decode(chunk)
        if not text:
            return []
        if self._after_return and text[0] == "\n":
            text = text[1:]
        self._after_return = text.endswith("\r")
        *lines, self._tail = LINE_END.split(self._tail + text)
        return [frame for line in lines if (frame := self._line(line)) is not None]

    def _line(self, line: str) -> tuple[int, str] | None:
        if not line:
            event, self._event = self._event, _Event()
            is_frame = event.data and INDEX.fullmatch(event.id)
            return (int(event.id), "\n".join(event.data)) if is_frame else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._event.data.append(value)
        elif name == "id":
            self._event.id = value
        return None
