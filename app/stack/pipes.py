"""The pipes through which a part tells us something: that it is ready, and what it holds. They close themselves at its end."""

import asyncio
import os
from collections.abc import Callable

from app.holdings import Holdings

_PIECE = 65_536


def ready_pipe() -> tuple[asyncio.Future[None], int]:
    """A future that a byte in the pipe resolves, and the end of the pipe that the child writes to."""
    ours, theirs = os.pipe()
    loop = asyncio.get_running_loop()
    announced: asyncio.Future[None] = loop.create_future()

    def look() -> None:
        loop.remove_reader(ours)
        said = os.read(ours, 1)
        os.close(ours)
        if said and not announced.done():  # nothing said: the process is gone, and its end tells that
            announced.set_result(None)

    loop.add_reader(ours, look)
    return announced, theirs


class ReportPipe:
    """What a child says it holds. `theirs` is the end that it writes to.

    `on_silence` is called where it has begun to speak and then says nothing for so many seconds.
    """

    def __init__(self, silence_seconds: float) -> None:
        self.holdings = Holdings()
        self.on_silence: Callable[[], None] | None = None
        self._silence_seconds = silence_seconds
        self._timer: asyncio.TimerHandle | None = None
        self._ours, self.theirs = os.pipe()
        os.set_blocking(self._ours, False)
        self._open = True
        asyncio.get_running_loop().add_reader(self._ours, self._read)

    def close(self) -> Holdings:
        """Take in what a dead child had still said. All that it holds."""
        while self._open:
            self._read()
        return self.holdings

    def _read(self) -> None:
        try:
            piece = os.read(self._ours, _PIECE)
        except BlockingIOError:
            piece = b""  # said all, but somebody it started has the other end still: nothing of ours comes from there
        self.holdings.hear(piece)
        if self._timer is not None:
            self._timer.cancel()
        if piece:
            self._timer = asyncio.get_running_loop().call_later(self._silence_seconds, self._silent)
        else:
            asyncio.get_running_loop().remove_reader(self._ours)
            os.close(self._ours)
            self._open = False

    def _silent(self) -> None:
        if self.on_silence is not None:
            self.on_silence()
