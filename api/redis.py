"""The windows of `api.rates` in Redis: the library's own scripts, over the connection that everything else uses."""

from pathlib import Path
from typing import Final, cast

import limits
from limits.aio.storage import SlidingWindowCounterSupport, Storage

from protocol.errors import TurnkeepError
from resp.client import Client
from resp.keys import Keys
from resp.script import load_script

_SCRIPTS: Final = Path(limits.__file__).parent / "resources" / "redis" / "lua_scripts"
_TAKE: Final = load_script(_SCRIPTS / "acquire_sliding_window.lua")
_LOOK: Final = load_script(_SCRIPTS / "sliding_window.lua")


class RedisWindows(Storage, SlidingWindowCounterSupport):
    """Sliding windows, each two keys in one slot. What the library's other strategies need is not here."""

    STORAGE_SCHEME: list[str] | None = None  # not to be had by an address

    def __init__(self, client: Client, keys: Keys) -> None:
        super().__init__()
        self._client = client
        self._keys = keys

    @property
    def base_exceptions(self) -> type[Exception]:
        return TurnkeepError

    async def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        return bool(await self._client.run(_TAKE, self._keys.window(key), str(limit), str(expiry), str(amount)))

    async def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]:
        reply = await self._client.run(_LOOK, self._keys.window(key), str(expiry))
        before, before_ms, now, now_ms = (int(one or 0) for one in cast("list[bytes | int | None]", reply))
        return before, max(0, before_ms) / 1000, now, max(0, now_ms) / 1000

    async def clear_sliding_window(self, key: str, expiry: int) -> None:
        await self._client.execute("DEL", *self._keys.window(key))

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        raise NotImplementedError

    async def get(self, key: str) -> int:
        raise NotImplementedError

    async def get_expiry(self, key: str) -> float:
        raise NotImplementedError

    async def check(self) -> bool:
        return bool(await self._client.execute("PING"))

    async def reset(self) -> int | None:
        raise NotImplementedError

    async def clear(self, key: str) -> None:
        raise NotImplementedError
