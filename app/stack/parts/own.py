"""Our own processes: workers and the API."""

import asyncio
import sys

from app.stack.part import GiveBack, Part

_PROBE_SECONDS = 2.0


def worker(
    number: int, *, environment: dict[str, str], inherited: tuple[int, ...], give_back: GiveBack | None = None
) -> Part:
    """A worker. It announces itself once it polls."""
    return Part(
        name=f"worker-{number}",
        command=(sys.executable, "-m", "app", "worker"),
        environment=environment,
        inherited=inherited,
        give_back=give_back,
    )


def api(listener: int, address: tuple[str, int], *, environment: dict[str, str], inherited: tuple[int, ...]) -> Part:
    """The API on a socket that stays ours: while a process is replaced, connections wait instead of being refused."""

    async def answering() -> bool:
        try:
            return await asyncio.wait_for(_is_ready(address), _PROBE_SECONDS)
        except (OSError, TimeoutError):
            return False

    return Part(
        name="api",
        command=(sys.executable, "-m", "app", "api", "--fd", str(listener)),
        environment=environment,
        inherited=(*inherited, listener),
        probe=answering,
    )


async def _is_ready(address: tuple[str, int]) -> bool:
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: turnkeep\r\nConnection: close\r\n\r\n")
        status = await reader.readline()
        return status.split()[1:2] == [b"200"]
    finally:
        writer.close()
