"""An API process: how it serves, and how it stops.

It stops by our own signal handler: uvicorn's waits for open streams for ever. No connection is taken any more; streams of
durable runs are aborted, because another process has the rest of them; runs that execute here hand over, and those that live
in this process alone get the grace period to end.
"""

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from api.application import Application
from app.compose import Compose, core
from app.compose_api import application
from app.process import leave_in_time
from app.settings import Settings


async def serve(settings: Settings, listener: socket.socket, *, compose: Compose = core) -> None:
    """Serve on the socket until SIGTERM or SIGINT."""
    stopping = _stop_event()
    async with compose(settings) as parts, application(parts) as (handler, dispatcher):
        server = _Server(_server_settings(settings, handler))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        stopped = asyncio.create_task(stopping.wait())
        await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        leave_in_time(settings)
        server.should_exit = True
        handler.drain()
        await dispatcher.drain()
        handler.close()
        await serving


class _Server(uvicorn.Server):
    """A server that leaves the signals to us."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _stop_event() -> asyncio.Event:
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    return stopping


def _server_settings(settings: Settings, handler: Application) -> uvicorn.Config:
    return uvicorn.Config(
        handler,
        loop="none",
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,  # it would write paths, and with them handles
        server_header=False,
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_graceful_shutdown=max(1, settings.grace_ms // 1_000),
    )
