"""How a process of ours runs: its loop, its garbage collector, its limits, its logs."""

import asyncio
import ctypes
import gc
import logging
import os
import resource
import sys
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final

import uvloop

from app.logs import configure_logs
from app.settings import Settings

logger = logging.getLogger(__name__)

LEAVE_SECONDS: Final = 2.0  # for a process that was told to end to be gone after its grace period

_M_ARENA_MAX: Final = -8  # of glibc's malloc.h
_ARENAS: Final = 2


def run_process(role: str, settings: Settings, main: Coroutine[Any, Any, None]) -> None:
    """Run `main` to its end in this process, which does nothing else."""
    configure_logs(settings, role)
    for note in settings.notes:
        logger.warning(note)
    raise_file_limit()
    share_free_memory()
    let_threads_in()
    calm_garbage_collector()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


def leave_in_time(settings: Settings) -> None:
    """Be gone when the grace period and `LEAVE_SECONDS` are over, whatever does not come to its end by then.

    A tool that hears of no cancellation, or a thread that waits, would keep the process for ever. The clock is a thread's: the
    loop may be what hangs.
    """
    clock = threading.Timer(settings.grace_ms / 1_000 + LEAVE_SECONDS, _leave)
    clock.daemon = True
    clock.start()


def _leave() -> None:
    logger.error("did not end within the grace period")
    os._exit(1)


def raise_file_limit() -> None:
    """As many sockets as the system lets us have: each reader is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError):  # where "unlimited" is said and not meant
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def share_free_memory() -> None:
    """Let all threads allocate from two heaps. Before the first thread: one that has a heap keeps it.

    By itself glibc gives each of the first sixteen threads (on two cores) a heap of its own: the database's, Temporal's, DNS's.
    What is free in one is of no use to another and goes back to the system only from its top, so it grows for as long as
    threads come by new heights of their own.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):  # another C library: it has no such heaps, or no such switch
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def let_threads_in() -> None:
    """Have the loop give a thread its turn after half a millisecond, where by itself it takes five.

    A transaction of the records runs in a thread and asks for its turn after every statement. Beside a loop that is busy it
    held SQLite's lock for 11 to 16 ms, and so for 2 to 4; the loop gets as much done.
    """
    sys.setswitchinterval(0.000_5)


def calm_garbage_collector() -> None:
    """Collect seldom, and often enough that what dies in cycles stays a few megabytes.

    With the usual thresholds a process of thousands of readers collects all the time and stops for 90 ms now and then. Turns
    leave no cycles of ours, but a workflow's replay leaves some hundred objects: with much higher thresholds those of a
    thousand turns would lie there, and those that were alive at a collection for hours.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # what is frozen must not count as what a full collection is seldom enough for
    gc.set_threshold(1_000, 5, 2)  # a full one for 18,000 objects more, and where those are a quarter of what lives
