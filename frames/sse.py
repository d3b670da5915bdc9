"""Frames as bytes: how one is written, how a payload of several is cut, how a stream is read back.

    id: 17
    event: text-delta
    data: {"type":"text-delta","id":"t1","delta":"Hello"}
    <blank line>

Rules
 - A frame is encoded once, by whoever appends it; the log stores these bytes and readers forward them unparsed.
 - Lines end in LF, JSON is one line of ASCII. So a blank line ends a frame and can occur nowhere else, a cut between two
   network chunks never falls into a character, and half a surrogate pair in a delta is still valid.
 - An `error` frame has no event line: EventSource would take it for an error of its own.
 - `OPEN`, `HEARTBEAT` and `DONE` are not frames: they have no index.

What cannot be said in JSON (NaN, bytes, foreign objects) raises here. Cleaning a tool's output is the engine's work.
"""

import json
import re
from dataclasses import dataclass
from typing import Final, cast, get_args, get_type_hints

from protocol.frames import DATA_NAMES, Frame

OPEN: Final = b": open\n\n"
HEARTBEAT: Final = b": hb\n\n"
DONE: Final = b"data: [DONE]\n\n"

# Clients cap a frame: one popular event stream parser and one message decoder at 1 MB. Four times below, because escaping
# grows text and because a frame is the least that a page, a ring and a reader's buffer must hold at once.
FRAME_BYTES: Final = 256 * 1024

_TO_JSON = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
_TYPES = {name for shape in get_args(Frame) for name in get_args(get_type_hints(shape)["type"])}
_EVENT_LINES: Final[dict[str, str]] = {
    "error": "",
    **{name: f"event: {name}\n" for name in (_TYPES - {"error"}) | {f"data-{name}" for name in DATA_NAMES}},
}


class FrameTooLarge(ValueError):
    """A frame over FRAME_BYTES. Whoever makes frames cuts first; nobody cuts bytes that are finished."""


def encode(index: int, frame: Frame) -> bytes:
    """The finished bytes of one frame.

    Raises:
        ValueError: the frame is no JSON (NaN, a cycle) or, as FrameTooLarge, over FRAME_BYTES.
        TypeError: the frame holds what JSON has no word for.
        KeyError: no frame has this type.
    """
    piece = f"id: {index}\n{_EVENT_LINES[frame['type']]}data: {_TO_JSON(frame)}\n\n".encode("ascii")
    if len(piece) > FRAME_BYTES:
        raise FrameTooLarge(
            f"frame {index} ({frame['type']}) has {len(piece)} bytes, at most {FRAME_BYTES} are allowed"
        )
    return piece


def split(payload: bytes) -> list[bytes]:
    """The frames of a payload, each with its closing blank line."""
    return [piece + b"\n\n" for piece in payload.split(b"\n\n")[:-1]]


def decode(piece: bytes) -> tuple[int, Frame]:
    """Index and frame of one finished piece, as `encode` wrote it or as a projection left it.

    Raises:
        ValueError: the piece is not one frame.
    """
    fields = dict(line.split(b": ", 1) for line in piece.removesuffix(b"\n\n").split(b"\n"))
    if b"id" not in fields or b"data" not in fields:
        raise ValueError("not a frame: id or data is missing")
    return int(fields[b"id"]), cast(Frame, json.loads(fields[b"data"]))  # the log holds only what `encode` wrote


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream. `id` is the last one seen, which sticks; `type` is "message" where no event line was."""

    id: str
    type: str
    data: str


_LINE_END = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Parser:
    """Reads an event stream fed in any pieces, as a browser does: every line end, comments, a leading byte order mark.

    Lines are cut as bytes and decoded whole, so a character split over two pieces stays intact. An event without its
    closing blank line is not handed out.
    """

    def __init__(self) -> None:
        self.comments = 0  # comment lines seen, heartbeats among them
        self._partial: list[bytes] = []  # of the line that has not ended; joined once, or a long line costs its square
        self._after_cr = False
        self._first = True
        self._id = ""
        self._type = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[Event]:
        """The events that are complete now.

        Raises:
            UnicodeDecodeError: a line is not UTF-8. The stream is broken; read no further.
        """
        if self._after_cr and piece:
            piece = piece.removeprefix(b"\n")  # CR ended the line at once; its LF came in the next piece
            self._after_cr = False
        lines = _LINE_END.split(piece)
        if len(lines) == 1:
            self._partial.append(piece)
            return []
        self._after_cr = piece.endswith(b"\r")
        lines[0] = b"".join([*self._partial, lines[0]])
        self._partial = [lines.pop()]
        if self._first:
            self._first = False
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        return [event for line in lines if (event := self._line(line.decode())) is not None]

    def _line(self, line: str) -> Event | None:
        if not line:
            return self._blank()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not name:
            self.comments += 1
        elif name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def _blank(self) -> Event | None:
        kind, data = self._type or "message", self._data
        self._type, self._data = "", []
        return Event(self._id, kind, "\n".join(data)) if data else None
