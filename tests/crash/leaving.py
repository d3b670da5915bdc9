"""Processes that were told to leave: watched until they are gone, and ended where they do not go, as every deploy does it."""

import asyncio
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Final

from app.process import LEAVE_SECONDS
from app.settings import Settings

# The grace period and what the process has beyond it; the rest is for the machine.
GONE_SECONDS: Final = Settings.read({}).grace_ms / 1_000 + LEAVE_SECONDS + 10.0


class Leavers:
    """Those that are on their way out."""

    def __init__(self) -> None:
        self._gone: dict[BaseProcess, asyncio.Event] = {}

    def add(self, process: BaseProcess, then: Callable[[], None] | None = None) -> None:
        """Tell it to leave (SIGTERM). `then` is called when it is gone."""
        loop, gone = asyncio.get_running_loop(), asyncio.Event()

        def see() -> None:
            loop.remove_reader(process.sentinel)
            process.join()
            gone.set()
            if then is not None:
                then()

        self._gone[process] = gone
        loop.add_reader(process.sentinel, see)
        process.terminate()

    async def left(self) -> list[str]:
        """Wait until all are gone. The names of those that had to be ended for that."""
        leavers, self._gone = self._gone, {}
        waiting = {asyncio.create_task(gone.wait()): process for process, gone in leavers.items()}
        if not waiting:
            return []
        _, late = await asyncio.wait(waiting, timeout=GONE_SECONDS)
        for task in late:
            waiting[task].kill()
        await asyncio.gather(*waiting)
        return [waiting[task].name for task in late]

    def close(self) -> None:
        """End those that are still there. Nobody takes their places any more."""
        for process in self._gone:
            if process.is_alive():
                asyncio.get_running_loop().remove_reader(process.sentinel)
                process.kill()
                process.join()
