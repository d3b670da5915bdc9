"""The parts' output as one stream: each line behind the name of its part."""

import asyncio
import logging
import sys
from contextlib import suppress
from typing import TextIO

logger = logging.getLogger(__name__)

OURSELVES = "turnkeep"

_COLOURS = (36, 33, 35, 32, 34, 31)
_WIDTH = 9


class Output:
    """Where lines go. On a terminal every part has its colour."""

    def __init__(self, stream: TextIO = sys.stdout) -> None:
        self._stream = stream
        self._colours: dict[str, int] = {}

    @property
    def on_terminal(self) -> bool:
        return self._stream.isatty()

    def say(self, name: str, line: str) -> None:
        """Write one line of a part's, or of our own."""
        self._write(f"{self._prefix(name)} {line}")

    async def echo(self, name: str, source: asyncio.StreamReader | None) -> None:
        """Write every line of a process, until its end."""
        while source is not None:
            try:
                line = await source.readline()
            except ValueError:  # longer than anything worth reading; what was buffered is dropped
                continue
            if not line:
                return
            self.say(name, line.decode(errors="replace").rstrip())

    def _write(self, line: str) -> None:
        # Where nobody reads any more it is dropped: a closed pager must not stop the stack.
        with suppress(BrokenPipeError):
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def _prefix(self, name: str) -> str:
        colour = self._colours.setdefault(name, _COLOURS[len(self._colours) % len(_COLOURS)])
        label = f"{name:<{_WIDTH}}│"
        return f"\x1b[{colour}m{label}\x1b[0m" if self.on_terminal else label


class PassThrough(Output):
    """For a container, where somebody collects lines: a part's as they are, ours as log lines among them."""

    def say(self, name: str, line: str) -> None:
        if name == OURSELVES:
            logger.info(line)
        else:
            self._write(line)
