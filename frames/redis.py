"""Frames from Redis: pushes by the process's push connection, ranges of a log by its command connection.

It keeps the laws of `frames/port.py`. It holds nothing for a run but the subscription: what a reader missed is in the log.
"""

from collections.abc import Callable

from protocol.log import Page, Pushed
from resp.client import Client
from resp.keys import Keys
from resp.log import pushed_from, read_page
from resp.push import PushConnection


class RedisFrameSource:
    """FrameSource over one client and one push connection, whatever the number of runs and readers."""

    def __init__(self, client: Client, push: PushConnection, *, keys: Keys | None = None) -> None:
        self._client = client
        self._push = push
        self._keys = keys or Keys()

    async def subscribe(self, run_id: str, listener: Callable[[Pushed], None]) -> None:
        await self._push.subscribe(self._keys.live(run_id), lambda message: listener(pushed_from(run_id, message)))

    async def unsubscribe(self, run_id: str) -> None:
        await self._push.unsubscribe(self._keys.live(run_id))

    def on_lost(self, callback: Callable[[], None]) -> None:
        self._push.on_lost(callback)

    async def read(self, run_id: str, start: int, max_bytes: int) -> Page | None:
        return await read_page(self._client, self._keys, run_id, start, max_bytes=max_bytes)
