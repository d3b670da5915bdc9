"""A process of readers: thousands of event streams on raw sockets, every index checked, every delay taken.

It stands in for browsers, so it does as little as it can for a frame, and tells its own CPU time: where that comes near one
core, the figures are its own and not the server's. Stamps are nanoseconds of the system's monotonic clock, which all
processes share; a frame carries the one of its append in its text, as `stamped` writes it.
"""

import re
import resource
import selectors
import socket
import time
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final

from frames import sse

AT_ONCE: Final = 200  # connections opened before their answers are awaited: the listener's queue holds about a thousand
_READ_BYTES: Final = 256 * 1024
_LONGEST_WAIT: Final = 0.05
_ANSWER_SECONDS: Final = 30.0
_FRAME: Final = re.compile(rb'id: (\d+)\n(?:event: text-delta\ndata: \{[^@\n]*"@(\d+) |event: finish\n)')
_DONE: Final = sse.DONE + b"\r\n0\r\n\r\n"  # and the end of a body in chunks: a clean end, nothing was cut off


def stamped(index: int, now_ns: int) -> bytes:
    """A finished frame of the usual size that tells when it was written."""
    return sse.encode(index, {"type": "text-delta", "id": "t1", "delta": f"@{now_ns} of the next few words"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect:
    """Open a stream for each request. `group` names them in the counts."""

    group: str
    address: tuple[str, int]
    requests: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Mark:
    """Forget the delays and the CPU time so far. Of the frames to come, those stamped before `since_ns` have no delay."""

    since_ns: int


@dataclass(frozen=True, slots=True)
class Tell:
    """Tell what was seen."""


@dataclass(slots=True, kw_only=True)
class Group:
    """What the streams of one group have got so far, all of them together."""

    streams: int = 0
    frames: int = 0
    gaps: int = 0
    duplicates: int = 0
    heartened: int = 0  # streams that got a heartbeat
    finished: int = 0  # ended by `finish`, [DONE] and the last chunk
    cut: int = 0  # ended otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The counts of all groups; since the last mark: delays in nanoseconds, and the CPU and wall seconds of the readers."""

    groups: dict[str, Group]
    delays: "array[int]"
    cpu_seconds: float
    seconds: float


class Readers:
    """The process, as seen from outside."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_read_for_ever, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def connect(self, order: Connect) -> None:
        """Open streams and return when all of them have got their first byte. Raises RuntimeError where one did not."""
        self._pipe.send(order)
        failure = self._pipe.recv()
        if failure:
            raise RuntimeError(failure)

    def mark(self, since_ns: int) -> None:
        self._pipe.send(Mark(since_ns))

    def seen(self) -> Seen:
        self._pipe.send(Tell())
        seen: Seen = self._pipe.recv()
        return seen

    def close(self) -> None:
        self._pipe.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()


@dataclass(slots=True, kw_only=True)
class _Stream:
    socket: socket.socket
    group: Group
    opened: bool = False
    heartened: bool = False
    expected: int = 0
    rest: bytes = b""  # read, but not the whole of a frame


def _read_for_ever(pipe: Connection) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with suppress(EOFError):  # the bench is gone
        _Loop(pipe).run()


@dataclass(slots=True)
class _Loop:
    pipe: Connection
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    groups: dict[str, Group] = field(default_factory=dict)
    delays: "array[int]" = field(default_factory=lambda: array("q"))
    since_ns: int = 0
    cpu_before: float = 0.0
    marked: float = 0.0

    def run(self) -> None:
        self.selector.register(self.pipe, selectors.EVENT_READ)
        while True:
            self._turn()
            if self.pipe.poll():
                self._obey(self.pipe.recv())

    def _obey(self, order: Connect | Mark | Tell) -> None:
        match order:
            case Connect():
                self.pipe.send(self._connect(order))
            case Mark(since_ns):
                self.delays = array("q")
                self.since_ns = since_ns
                self.cpu_before, self.marked = time.process_time(), time.monotonic()
            case Tell():
                cpu, seconds = time.process_time() - self.cpu_before, time.monotonic() - self.marked
                self.pipe.send(Seen(groups=self.groups, delays=self.delays, cpu_seconds=cpu, seconds=seconds))

    def _connect(self, order: Connect) -> str:
        group = self.groups.setdefault(order.group, Group())
        for first in range(0, len(order.requests), AT_ONCE):
            opened = [self._open(order.address, request, group) for request in order.requests[first : first + AT_ONCE]]
            give_up = time.monotonic() + _ANSWER_SECONDS
            while not all(stream.opened for stream in opened):
                self._turn()
                if group.cut or time.monotonic() > give_up:
                    return next(f"no stream: {stream.rest!r}" for stream in opened if not stream.opened)
        return ""

    def _open(self, address: tuple[str, int], request: bytes, group: Group) -> _Stream:
        connection = socket.create_connection(address, timeout=_ANSWER_SECONDS)
        connection.sendall(request)
        connection.setblocking(False)
        stream = _Stream(socket=connection, group=group)
        group.streams += 1
        self.selector.register(connection, selectors.EVENT_READ, stream)
        return stream

    def _turn(self) -> None:
        for key, _ in self.selector.select(_LONGEST_WAIT):
            if key.data is not None:
                self._read(key.data)

    def _read(self, stream: _Stream) -> None:
        try:
            data = stream.socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        now = time.monotonic_ns()
        if not data:
            self._close(stream, clean=False)
            return
        data = stream.rest + data
        if not stream.opened:
            stream.opened = data.startswith(b"HTTP/1.1 200") and b"\r\n\r\n" in data
        whole = data.rfind(b"\n\n") + 2
        if whole > 1:
            self._take(stream, data[:whole], now)
        stream.rest = data[whole:] if whole > 1 else data
        if stream.rest.endswith(b"0\r\n\r\n"):
            self._close(stream, clean=data.endswith(_DONE))

    def _take(self, stream: _Stream, data: bytes, now: int) -> None:
        group, since = stream.group, self.since_ns
        for index, stamp in _FRAME.findall(data):
            number = int(index)
            if number != stream.expected:
                if number > stream.expected:
                    group.gaps += 1
                else:
                    group.duplicates += 1
            stream.expected = number + 1
            group.frames += 1
            if stamp and int(stamp) >= since:
                self.delays.append(now - int(stamp))
        if not stream.heartened and sse.HEARTBEAT in data:
            stream.heartened = True
            group.heartened += 1

    def _close(self, stream: _Stream, *, clean: bool) -> None:
        self.selector.unregister(stream.socket)
        stream.socket.close()
        if clean:
            stream.group.finished += 1
        else:
            stream.group.cut += 1
