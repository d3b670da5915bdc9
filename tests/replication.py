"""A primary with a replica, for tests of failing over."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from resp.address import Address
from resp.client import Client
from tests.servers import running_server
from tests.stores import client_at


@dataclass
class Pair:
    """Two servers. The replica follows until it is detached, and then is a primary of its own."""

    primary: Address
    replica: Address
    first: Client
    second: Client

    async def caught_up(self) -> None:
        """Until the replica has what the primary was given so far."""
        while True:
            connection = await self.first.connected()
            await connection.send("SET", "caught-up", 1)
            if await connection.send("WAIT", 1, 1_000):
                return

    async def detach(self) -> None:
        await self.second.execute("REPLICAOF", "NO", "ONE")


@asynccontextmanager
async def replicated() -> AsyncIterator[Pair]:
    """A pair in step."""
    with running_server("valkey", append_only=True) as primary, running_server("valkey", append_only=True) as replica:
        async with client_at(primary.address) as first, client_at(replica.address) as second:
            pair = Pair(primary.address, replica.address, first, second)
            port = free_port()
            await first.execute("CONFIG", "SET", "repl-diskless-sync-delay", 0, "port", port)
            await second.execute("REPLICAOF", "127.0.0.1", port)
            await pair.caught_up()
            yield pair


def free_port() -> int:
    """A port of the loopback interface that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
