"""An outbox in Redis or Valkey: the seals beside their runs, and one sorted set that names them.

They lie in different slots, so no script can carry both. The seal goes in first, and out first: whoever is killed in between
leaves a seal that is not named yet, and its run, which has not finished, is kept again; or a name without a seal, which is
forgotten once more.
"""

from pathlib import Path

from resp.client import Client
from resp.keys import Keys
from resp.script import load_script

# A server out of memory must still take the end of a run (C13).
_WRITE = load_script(Path(__file__).parent / "outbox.lua", flags="allow-oom")


class RedisOutbox:
    """Outbox for all processes of a deployment."""

    def __init__(self, client: Client, keys: Keys) -> None:
        self._client = client
        self._keys = keys

    async def keep(self, run_id: str, seal: bytes) -> None:
        await self._client.run(_WRITE, (self._keys.unsettled(run_id),), "SET", seal)
        await self._client.run(_WRITE, (self._keys.outbox,), "ZADD", 0, run_id)

    async def waiting(self, past: str, limit: int) -> tuple[str, ...]:
        begin = f"({past}" if past else "-"
        names = await self._client.execute("ZRANGE", self._keys.outbox, begin, "+", "BYLEX", "LIMIT", 0, limit)
        return tuple(name.decode() for name in names)

    async def kept(self, run_id: str) -> bytes | None:
        seal: bytes | None = await self._client.execute("GET", self._keys.unsettled(run_id))
        return seal

    async def forget(self, run_id: str) -> None:
        await self._client.execute("DEL", self._keys.unsettled(run_id))
        await self._client.execute("ZREM", self._keys.outbox, run_id)

    async def size(self) -> int:
        count: int = await self._client.execute("ZCARD", self._keys.outbox)
        return count
