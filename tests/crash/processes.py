"""What the children of the suite run. They are forked from one process that has imported everything: a start costs
milliseconds, and there are thousands of them. None outlives the suite.
"""

import asyncio
import ctypes
import os
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from app.main import serve
from app.process import run_process
from app.settings import Settings
from app.worker import work
from tests.crash.alone import command
from tests.crash.composition import composition
from tests.crash.points import announce

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One process: its name, what it reads as its environment, and the seeded bug it has, if any."""

    name: str
    folder: Path
    environment: dict[str, str]
    bug: str = ""
    port: int = 0  # of an API


def run_worker(child: Child) -> None:
    """A worker process."""
    settings, ready = _begin(child)

    async def main() -> None:
        _count_when_asked(child)
        alone = command(child.folder, child.bug, child.environment)
        await work(settings, ready, compose=composition(child.folder, child.bug), alone=alone)

    run_process(child.name, settings, main())
    os._exit(0)


def run_api(child: Child) -> None:
    """An API process."""
    settings, ready = _begin(child)
    listener = socket.create_server(("127.0.0.1", child.port), backlog=256)

    async def main() -> None:
        _count_when_asked(child)
        serving = asyncio.create_task(serve(settings, listener, compose=composition(child.folder, child.bug)))
        os.write(ready, b".")
        os.close(ready)
        await serving

    run_process(child.name, settings, main())
    os._exit(0)


def _count_when_asked(child: Child) -> None:
    """On SIGUSR1 tell the suite how many tasks there are."""

    def tell() -> None:
        os.close(announce(child.folder, child.name, "tasks", len(asyncio.all_tasks())))

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, tell)


def _begin(child: Child) -> tuple[Settings, int]:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    log = os.open(child.folder / f"{child.name}.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    return Settings.read(child.environment), announce(child.folder, child.name, "ready", os.getpid())
