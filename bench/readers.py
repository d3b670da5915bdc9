"""A process of readers: thousands of event streams on raw sockets.

It stands in for browsers and tells its own CPU time: where that comes near one core, the figures are its own and not the
server's. What is counted of a stream is in `bench/counting.py`.
"""

import selectors
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final

from app.process import raise_file_limit
from bench.counting import Delays, Group, Stream

AT_ONCE: Final = 200  # connections opened before their answers are awaited: the listener's queue holds about a thousand
_READ_BYTES: Final = 256 * 1024
_LONGEST_WAIT: Final = 0.05
_ANSWER_SECONDS: Final = 30.0


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The counts of all groups; since the last mark: the delays, and the CPU and wall seconds of the readers."""

    groups: dict[str, Group]
    delays: Delays
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


def _read_for_ever(pipe: Connection) -> None:
    raise_file_limit()
    with suppress(EOFError):  # the bench is gone
        _Loop(pipe).run()


@dataclass(slots=True)
class _Loop:
    pipe: Connection
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    groups: dict[str, Group] = field(default_factory=dict)
    delays: Delays = field(default_factory=Delays)
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
                self.delays = Delays(since_ns)
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

    def _open(self, address: tuple[str, int], request: bytes, group: Group) -> Stream:
        connection = socket.create_connection(address, timeout=_ANSWER_SECONDS)
        connection.sendall(request)
        connection.setblocking(False)
        stream = Stream(group)
        group.streams += 1
        self.selector.register(connection, selectors.EVENT_READ, stream)
        return stream

    def _turn(self) -> None:
        for key, _ in self.selector.select(_LONGEST_WAIT):
            if isinstance(key.fileobj, socket.socket):
                self._read(key.fileobj, key.data)

    def _read(self, connection: socket.socket, stream: Stream) -> None:
        try:
            data = connection.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if data:
            stream.feed(data, time.monotonic_ns(), self.delays)
        else:
            stream.end()
        if stream.ended:
            self.selector.unregister(connection)
            connection.close()
