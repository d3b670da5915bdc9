"""One slice in a process of its own: for a turn that may take its process with it (C16).

The worker that sends the errand reads here what became of it: lines on the standard output, each one `News`. A process that
says nothing for long hangs, one that ends without a result has died; the worker tells both from a turn that goes on.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from app.compose import Compose, core
from app.holdings import BEAT_SECONDS
from app.settings import Settings
from checkpoints.port import Grip, Order
from protocol.errors import ErrorKind, TurnkeepError
from protocol.turn import SliceResult, Stored
from runner.port import Job, TurnRunner


class Errand(Stored):
    """What is to be done: a slice, or with `kind` the end of a run that no slice can go on with."""

    run_id: str
    order: tuple[int, int, int]
    slice_ms: int | None = None
    kind: ErrorKind | None = None


class News(Stored):
    """One of: a claim was won, it is over (with a result or a kind of failure), or nothing but a sign of life."""

    attempt: int = 0
    owner: str = ""
    result: SliceResult | None = None
    failed: ErrorKind | None = None


def answering() -> Callable[[News], None]:
    """Take the standard output for news. What tools print goes to the error output from here on."""
    channel = os.dup(1)
    os.dup2(2, 1)
    return lambda news: _write(channel, news)


async def carry_out(settings: Settings, errand: Errand, tell: Callable[[News], None], compose: Compose = core) -> None:
    """Do it and tell how it went. SIGTERM asks for a hand-over at the next boundary."""
    _go_first()
    drain = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, drain.set)
    beating = asyncio.create_task(_beat(tell))
    async with compose(settings) as parts:
        runner = parts.runner(parts.store, parts.outbox, on_claim=lambda grip: tell(_claimed(grip)))
        try:
            tell(News(result=await _result(runner, errand, drain)))
        except TurnkeepError as error:
            tell(News(failed=error.kind))
        finally:
            beating.cancel()


async def _result(runner: TurnRunner, errand: Errand, drain: asyncio.Event) -> SliceResult:
    order = Order(*errand.order)
    if errand.kind is not None:
        return await runner.fail(errand.run_id, order, errand.kind)
    return await runner.run(Job(run_id=errand.run_id, order=order, mode="workflow", slice_ms=errand.slice_ms), drain)


def _go_first() -> None:
    """Where the machine runs out of memory, this process is ended and none of those with other turns."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _claimed(grip: Grip) -> News:
    return News(attempt=grip.attempt, owner=grip.owner)


async def _beat(tell: Callable[[News], None]) -> None:
    while True:
        tell(News())
        await asyncio.sleep(BEAT_SECONDS)


def _write(channel: int, news: News) -> None:
    os.write(channel, news.model_dump_json(exclude_defaults=True).encode() + b"\n")
