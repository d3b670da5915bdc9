"""`python -m app worker --supervised`: what a container runs."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from app.stack import leash
from tests.temporal import temporal_server

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(60)


class Supervised:
    """The process and its lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def says(self, event: str) -> dict[str, object]:
        """Read on to the line that says this; every line is an object."""
        assert self.process.stdout is not None
        while True:
            line: dict[str, object] = json.loads(await self.process.stdout.readline())
            if event in str(line["event"]):
                return line


@asynccontextmanager
async def supervised(folder: Path, temporal: str) -> AsyncIterator[Supervised]:
    command = (sys.executable, "-I", "-S", str(leash.__file__), str(os.getpid()), sys.executable, "-m", "app")
    environment = {
        "PATH": os.environ["PATH"],
        "TURNKEEP_TEMPORAL_ADDRESS": temporal,
        "TURNKEEP_DATABASE_URL": f"sqlite:///{folder}/records.sqlite3",
    }
    process = await asyncio.create_subprocess_exec(
        *command,
        *("worker", "--supervised"),
        cwd=ROOT,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Supervised(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_worker_that_dies_is_replaced_and_every_line_is_an_object(tmp_path: Path) -> None:
    with temporal_server(tmp_path) as temporal:
        async with supervised(tmp_path, temporal.address) as worker:
            await worker.says("worker-1 is ready")
            (first,) = psutil.Process(worker.process.pid).children()

            first.kill()

            line = await worker.says("worker-1 was killed by SIGKILL")
            assert line["role"] == "supervisor"
            await worker.says("worker-1 is ready")

            worker.process.send_signal(signal.SIGTERM)
            assert await worker.process.wait() == 0
