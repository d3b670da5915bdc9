"""The switch where every process sees it: one key in Redis."""

from resp.client import Client
from resp.keys import Keys


class RedisSwitch:
    """Keeps `dispatch.watch.SwitchStore`."""

    def __init__(self, client: Client, keys: Keys) -> None:
        self._client = client
        self._key = keys.switch

    async def get(self) -> str | None:
        value: bytes | None = await self._client.execute("GET", self._key)
        return None if value is None else value.decode()

    async def set(self, value: str) -> None:
        await self._client.execute("SET", self._key, value)
