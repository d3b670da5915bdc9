"""A part of the stack: what it is, and one running process of it."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.stack.output import Output

_LEASH = str(Path(__file__).with_name("leash.py"))
_LOOK_SECONDS = 0.03
_LONGEST_LINE = 1_048_576

Probe = Callable[[], Awaitable[bool]]


class PartFailed(Exception):
    """A part ended before it was ready, or did not become ready in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """How a part is started and how one sees that it serves.

    `probe` asks it in its own protocol. A part without one announces itself: it is given `--ready-fd N` and writes a byte.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    inherited: tuple[int, ...] = ()
    probe: Probe | None = None
    ready_seconds: float = 30.0


class Child:
    """One process of a part. It dies with us; Ctrl-C on our terminal does not reach it."""

    def __init__(self, part: Part, process: Process, *, announced: asyncio.Future[None] | None, output: Output) -> None:
        self._part = part
        self._process = process
        self._announced = announced
        self._echo = asyncio.create_task(output.echo(part.name, process.stdout))

    async def ready(self) -> None:
        """Wait until the part serves.

        Raises:
            PartFailed: where it ended first, or took longer than it may.
        """
        serving = asyncio.ensure_future(self._announced or _until(self._part.probe))
        ended = asyncio.create_task(self._process.wait())
        try:
            await asyncio.wait({serving, ended}, timeout=self._part.ready_seconds, return_when=asyncio.FIRST_COMPLETED)
            if not serving.done():
                raise PartFailed(f"{self._part.name} {self._why_not()}")
        finally:
            serving.cancel()
            ended.cancel()

    async def ended(self) -> str:
        """Wait for the end and say how it came."""
        await self._process.wait()
        await self._echo
        return ended_how(self._process.returncode or 0)

    async def stop(self, seconds: float) -> None:
        """Ask it to end; past `seconds` end it."""
        if self._process.returncode is None:
            self._process.terminate()
        try:
            await asyncio.wait_for(self.ended(), seconds)
        except TimeoutError:
            self.kill()
            await self.ended()

    def kill(self) -> None:
        """End it at once."""
        if self._process.returncode is None:
            self._process.kill()

    def _why_not(self) -> str:
        code = self._process.returncode
        return f"is not ready after {self._part.ready_seconds:.0f} s" if code is None else ended_how(code)


async def start(part: Part, output: Output) -> Child:
    """Start a process of the part."""
    announced, ready_end = (None, -1) if part.probe else _ready_pipe()
    command = [*part.command, *(["--ready-fd", str(ready_end)] if announced else [])]
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", _LEASH, str(os.getpid()), *command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            env=dict(part.environment),
            pass_fds=(*part.inherited, *((ready_end,) if announced else ())),
            start_new_session=True,
            limit=_LONGEST_LINE,
        )
    finally:
        if announced:
            os.close(ready_end)
    return Child(part, process, announced=announced, output=output)


def ended_how(code: int) -> str:
    """What an exit code says, in words."""
    if code >= 0:
        return f"ended with code {code}"
    return f"was killed by {signal.Signals(-code).name}"


async def _until(probe: Probe | None) -> None:
    while probe is not None and not await probe():  # noqa: ASYNC110 - another process sets no Event of ours
        await asyncio.sleep(_LOOK_SECONDS)


def _ready_pipe() -> tuple[asyncio.Future[None], int]:
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
