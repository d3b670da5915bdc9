"""A Temporal server of a test's own: the embedded stack's, with its tuning, on a free port of loopback."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

from app.stack import leash
from app.stack.parts.temporal import temporal
from app.stack.ports import free_port


class TemporalServer:
    """A server whose data is a file in `folder`. It dies with the tests, however they end."""

    def __init__(self, folder: Path) -> None:
        port = free_port("127.0.0.1")
        part = temporal(folder / "temporal.db", port, environment={}, inherited=())
        self.address = f"127.0.0.1:{port}"
        self._folder = folder
        self._command = (sys.executable, "-I", "-S", str(leash.__file__), str(os.getpid()), *part.command)
        self._process: subprocess.Popen[str] | None = None
        self._reading: threading.Thread | None = None

    def start(self) -> Self:
        """Start it, for the first time or again, and return when it serves."""
        home = {"HOME": str(self._folder)}  # it looks for a configuration there, and must not find the user's
        pipe, merged = subprocess.PIPE, subprocess.STDOUT
        process = subprocess.Popen(self._command, stdout=pipe, stderr=merged, text=True, env=home)
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith(
                "Temporal CLI"
            ):  # it serves; a client that was faster may have been complained about before
                break
        else:
            raise AssertionError("".join(said))
        # Read on, or a server with many warnings would block on a full pipe.
        self._reading = threading.Thread(target=_drain, args=(process.stdout,), daemon=True)
        self._reading.start()
        self._process = process
        return self

    def freeze(self) -> None:
        """Leave it alive and silent."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait(timeout=10)
            self._process = None
        if self._reading is not None:
            self._reading.join()
            self._reading = None

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)


@contextmanager
def temporal_server(folder: Path) -> Iterator[TemporalServer]:
    """A running server, killed at the end."""
    server = TemporalServer(folder)
    try:
        yield server.start()
    finally:
        server.kill()


def _drain(output: IO[str]) -> None:
    with output:
        output.read()
