"""A part of the stack: what it is, and one running process of it."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.holdings import Holdings
from app.stack.output import OURSELVES, Output
from app.stack.pipes import ReportPipe, ready_pipe

LEASH = str(Path(__file__).with_name("leash.py"))
_LOOK_SECONDS = 0.03
_LONGEST_LINE = 1_048_576

Probe = Callable[[], Awaitable[bool]]
GiveBack = Callable[[Holdings], Awaitable[None]]


class PartFailed(Exception):
    """A part ended before it was ready, or did not become ready in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """How a part is started and how one sees that it serves.

    `probe` asks it in its own protocol. A part without one announces itself: it is given `--ready-fd N` and writes a byte.
    One with `give_back` is also given `--report-fd N` and tells there what it holds; at its death that is given back. Where it
    says nothing there for `silence_seconds` it hangs, and is ended.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    inherited: tuple[int, ...] = ()
    probe: Probe | None = None
    give_back: GiveBack | None = None
    silence_seconds: float = 30.0
    ready_seconds: float = 30.0


class Child:
    """One process of a part. It dies with us; Ctrl-C on our terminal does not reach it."""

    def __init__(
        self,
        part: Part,
        process: Process,
        *,
        announced: asyncio.Future[None] | None,
        report: ReportPipe | None,
        output: Output,
    ) -> None:
        self._part = part
        self._process = process
        self._announced = announced
        self._report = report
        self._output = output
        if report is not None:
            report.on_silence = self._end_hanging
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

    async def give_back(self) -> None:
        """Wait for its death, then give back what it held."""
        await self._process.wait()
        if self._report is not None and self._part.give_back is not None:
            await self._part.give_back(self._report.close())

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

    def _end_hanging(self) -> None:
        self._output.say(
            OURSELVES, f"{self._part.name} hangs: it has said nothing for {self._part.silence_seconds:g} s"
        )
        self.kill()

    def _why_not(self) -> str:
        code = self._process.returncode
        return f"is not ready after {self._part.ready_seconds:.0f} s" if code is None else ended_how(code)


async def start(part: Part, output: Output) -> Child:
    """Start a process of the part."""
    announced, ready_end = (None, None) if part.probe else ready_pipe()
    report = ReportPipe(part.silence_seconds) if part.give_back else None
    ends = {"--ready-fd": ready_end, "--report-fd": report.theirs if report else None}
    theirs = {option: end for option, end in ends.items() if end is not None}
    options = [word for option, end in theirs.items() for word in (option, str(end))]
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", LEASH, str(os.getpid()), *part.command, *options),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            env=dict(part.environment),
            pass_fds=(*part.inherited, *theirs.values()),
            start_new_session=True,
            limit=_LONGEST_LINE,
        )
    finally:
        for end in theirs.values():
            os.close(end)
    return Child(part, process, announced=announced, report=report, output=output)


def ended_how(code: int) -> str:
    """What an exit code says, in words."""
    if code >= 0:
        return f"ended with code {code}"
    return f"was killed by {signal.Signals(-code).name}"


async def _until(probe: Probe | None) -> None:
    while probe is not None and not await probe():  # noqa: ASYNC110 - another process sets no Event of ours
        await asyncio.sleep(_LOOK_SECONDS)
