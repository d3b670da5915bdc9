"""The processes that a bench measures, and what they use: each is a child of the bench and dies with it.

They are the product's own commands (`python -m app api|worker`), in a folder of their own, with default settings.
"""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from app.stack import leash
from app.stack.parts.own import api, worker
from app.stack.ports import listen
from records.migrate import upgrade
from resp.address import Address

ROOT = Path(__file__).parents[1]
READY_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What processes of one deployment share. `secret` signs its sessions, handles and tokens."""

    folder: Path
    environment: Mapping[str, str]
    secret: str


async def deploy(folder: Path, store: Address, *, temporal: str = "127.0.0.1:1", **settings: str) -> Deployment:
    """A deployment in a folder. Without a Temporal server its turns run inline."""
    secret = secrets.token_urlsafe(32)
    database = f"sqlite:///{folder / 'turnkeep.sqlite3'}"
    await upgrade(database)
    environment = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "CHAT_STREAM_RESUME_SECRET": secret,
        "TURNKEEP_DATABASE_URL": database,
        "TURNKEEP_REDIS_URL": f"unix://{store.path}",
        "TURNKEEP_STATE_DIR": str(folder),
        "TURNKEEP_TEMPORAL_ADDRESS": temporal,
        **settings,
    }
    return Deployment(folder=folder, environment=environment, secret=secret)


class Process:
    """A child, and what it costs."""

    def __init__(self, command: tuple[str, ...], environment: Mapping[str, str], log: Path, *files: int) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                (sys.executable, "-I", "-S", str(leash.__file__), str(os.getpid()), *command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                pass_fds=files,
                cwd=ROOT,
            )
        self.log = log
        self.usage = Usage(self._process.pid)

    def require_alive(self) -> None:
        """Raises RuntimeError with the end of what it wrote."""
        if self._process.poll() is not None:
            raise RuntimeError(f"a process ended: {self.log.read_text()[-2_000:]}")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Usage:
    """What a process has used so far."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        # The clock of another process's CPU time, as clock_getcpuclockid(3) names it: psutil counts in steps of 10 ms.
        self._clock = (~pid << 3) | 2 if sys.platform == "linux" else None

    @property
    def cpu_seconds(self) -> float:
        if self._clock is not None:
            return time.clock_gettime(self._clock)
        times = self._process.cpu_times()
        return times.user + times.system

    @property
    def resident_bytes(self) -> int:
        resident: int = self._process.memory_info().rss
        return resident


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiProcess:
    """A serving API process."""

    process: Process
    address: tuple[str, int]


@contextmanager
def serving_api(deployment: Deployment) -> Iterator[ApiProcess]:
    """An API process that answers /readyz."""
    with listen("127.0.0.1") as listener:
        address: tuple[str, int] = listener.getsockname()
        part = api(listener.fileno(), address, environment={}, inherited=())
        files = (listener.fileno(),)
        process = Process(part.command, deployment.environment, deployment.folder / "api.log", *files)
    try:
        _until_ready(process, address)
        yield ApiProcess(process=process, address=address)
    finally:
        process.stop()


@contextmanager
def polling_worker(deployment: Deployment) -> Iterator[Process]:
    """A worker process that takes turns."""
    ours, theirs = os.pipe()
    part = worker(1, environment={}, inherited=())
    command = (*part.command, "--ready-fd", str(theirs))
    process = Process(command, deployment.environment, deployment.folder / "worker.log", theirs)
    os.close(theirs)
    try:
        if os.read(ours, 1) != b".":
            process.require_alive()
        yield process
    finally:
        os.close(ours)
        process.stop()


def _until_ready(process: Process, address: tuple[str, int]) -> None:
    give_up = time.monotonic() + READY_SECONDS
    with socket.create_connection(address, timeout=READY_SECONDS) as connection:  # it waits in the listener's queue
        while True:
            connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: bench\r\n\r\n")
            if connection.recv(4_096).startswith(b"HTTP/1.1 200"):
                return
            process.require_alive()
            if time.monotonic() > give_up:
                raise RuntimeError("the API is not ready")
