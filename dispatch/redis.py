"""The switch as a Redis string, where `redis-cli SET` reaches it too."""

from protocol.errors import StoreUnavailable
from resp.client import Client
from resp.errors import ReplyError
from resp.keys import Keys


class RedisSwitch:
    """A SwitchStore for all processes of a deployment."""

    def __init__(self, client: Client, keys: Keys) -> None:
        self._client = client
        self._key = keys.switch

    async def get(self) -> str | None:
        try:
            value = await self._client.execute("GET", self._key)
        except ReplyError as error:  # somebody made another type of the key: for us nothing can be read
            raise StoreUnavailable("The switch cannot be read.") from error
        return None if value is None else value.decode(errors="replace")

    async def set(self, value: str) -> None:
        try:
            await self._client.execute("SET", self._key, value)
        except ReplyError as error:  # out of memory, read-only
            raise StoreUnavailable("The switch cannot be stored.") from error
