"""`python -m tests.stack.hanging api|worker`: a process of ours in which something hangs when it is to end.

It writes a line to its standard output once it can be told so.
"""

import asyncio
import logging
import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.compose import Core, core
from app.main import serve
from app.process import run_process
from app.settings import Settings, read_settings
from app.worker import work


@asynccontextmanager
async def hanging(settings: Settings) -> AsyncIterator[Core]:
    """The parts, and a thread that waits for ever."""
    async with core(settings) as parts:
        yield parts
        await asyncio.to_thread(threading.Event().wait)


async def main(role: str, settings: Settings) -> None:
    if role == "worker":
        await work(settings, 1, compose=hanging)
        return
    serving = asyncio.create_task(serve(settings, socket.create_server(("127.0.0.1", 0)), compose=hanging))
    await asyncio.sleep(0)  # it hears signals
    sys.stdout.write(".")
    sys.stdout.flush()
    await serving


if __name__ == "__main__":
    logging.raiseExceptions = False
    found = read_settings()
    run_process(sys.argv[1], found, main(sys.argv[1], found))
