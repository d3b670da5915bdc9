"""What a reader sees of its stream: every index checked, every delay taken. Bytes in, counts out, no I/O.

It does as little as it can for a frame: it shares the machine with what is measured.
"""

import re
from array import array
from dataclasses import dataclass, field
from typing import Final

from frames import sse

_FRAME: Final = re.compile(rb'id: (\d+)\n(?:event: text-delta\ndata: \{[^@\n]*"@(\d+) |event: finish\n)')
_LAST_CHUNK: Final = b"0\r\n\r\n"


def stamped(index: int, now_ns: int) -> bytes:
    """A finished frame of the usual size that tells when it was appended, in nanoseconds of the monotonic clock."""
    return sse.encode(index, {"type": "text-delta", "id": "t1", "delta": f"@{now_ns} of the next few words"})


@dataclass(slots=True, kw_only=True)
class Group:
    """What some streams have got so far, all of them together."""

    streams: int = 0
    frames: int = 0
    gaps: int = 0
    duplicates: int = 0
    heartened: int = 0  # streams that got a heartbeat
    finished: int = 0  # ended by [DONE] and the last chunk
    cut: int = 0  # ended otherwise


@dataclass(slots=True)
class Delays:
    """Nanoseconds from append to reader, of frames appended at `since_ns` or later."""

    since_ns: int = 0
    found: "array[int]" = field(default_factory=lambda: array("q"))


@dataclass(slots=True)
class Stream:
    """One response as it arrives, its head and the framing of its chunks included."""

    group: Group
    opened: bool = False  # by a head that says 200
    ended: bool = False
    rest: bytes = b""  # of a frame that has not arrived whole
    _expected: int = 0
    _heartened: bool = False
    _done: bool = False  # the last that came was [DONE]

    def feed(self, data: bytes, now_ns: int, delays: Delays) -> None:
        """Take what arrived at that time."""
        data = self.rest + data
        if not self.opened:
            self.opened = data.startswith(b"HTTP/1.1 200") and b"\r\n\r\n" in data
        whole = data.rfind(b"\n\n") + 2
        if whole > 1:
            self._done = data.endswith(sse.DONE, 0, whole)
            self._count(data[:whole], now_ns, delays)
        self.rest = data[whole:] if whole > 1 else data
        if self.rest.endswith(_LAST_CHUNK):
            self.end(clean=self._done)

    def end(self, *, clean: bool = False) -> None:
        """Nothing more arrives."""
        self.ended = True
        if clean:
            self.group.finished += 1
        else:
            self.group.cut += 1

    def _count(self, data: bytes, now_ns: int, delays: Delays) -> None:
        group = self.group
        for index, stamp in _FRAME.findall(data):
            number = int(index)
            if number > self._expected:
                group.gaps += 1
            elif number < self._expected:
                group.duplicates += 1
            self._expected = number + 1
            group.frames += 1
            if stamp and int(stamp) >= delays.since_ns:
                delays.found.append(now_ns - int(stamp))
        if not self._heartened and sse.HEARTBEAT in data:
            self._heartened = True
            group.heartened += 1
