"""The command connection of a process: one, shared by all runs, opened when it is needed.

A command is sent once. Where its reply is lost the caller gets StoreUnavailable and asks the log where it stands; that is
what makes appends safe to repeat, and blind retries down here would take that decision away from it.
"""

import asyncio
from collections.abc import Callable, Sequence

from protocol.errors import StoreUnavailable
from resp.address import Address
from resp.connection import Bounds, Connection, Part, Reply, connect
from resp.script import Script

FIRST_PAUSE = 0.02  # seconds; a server that restarts is back within some ten of these
LONGEST_PAUSE = 1.0  # seconds; a lease is two: a server that came back is noticed within one


def no_jitter() -> float:
    """Spread nothing: for tests and for a process that is alone."""
    return 1.0


def pause_after(failures: int, jitter: Callable[[], float]) -> float:
    """Seconds to rest after so many failed attempts in a row. `jitter` gives 0…1 and takes at most half of it away."""
    return min(FIRST_PAUSE * (1 << min(failures, 16)), LONGEST_PAUSE) * (1 + jitter()) / 2


class Client:
    """Commands over one connection that comes back by itself. All calls from one event loop."""

    def __init__(
        self, address: Address, *, bounds: Bounds | None = None, jitter: Callable[[], float] = no_jitter
    ) -> None:
        self._address = address
        self._bounds = bounds or Bounds()
        self._jitter = jitter
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._failures = 0
        self._pause: asyncio.TimerHandle | None = None
        self._closed = False
        self._twins: list[Client] = []

    def twin(self) -> "Client":
        """A second connection to the same server, for commands that make a connection wait. Closed with this one."""
        twin = Client(self._address, bounds=self._bounds, jitter=self._jitter)
        self._twins.append(twin)
        return twin

    async def connected(self) -> Connection:
        """The open connection, for commands that must travel on the same one. Raises StoreUnavailable."""
        connection = self._connection
        if connection is None or connection.lost.done():
            return await self._connect()
        return connection

    async def execute(self, *parts: Part) -> Reply:
        """Send one command and return its reply: int, bytes, list, dict, bool, float or None.

        Raises:
            StoreUnavailable: No reply. Whether the command was executed is unknown.
            ReplyError: The server refused the command.
        """
        connection = await self.connected()
        return await connection.send(*parts)

    async def execute_all(self, *commands: Sequence[Part]) -> list[Reply]:
        """Send commands in one write and return their replies; others may come in between. Raises as `execute`."""
        connection = await self.connected()
        return await asyncio.gather(*[connection.send(*parts) for parts in commands])

    async def run(self, script: Script, keys: Sequence[str], *arguments: Part) -> Reply:
        """Run a script. Raises as `execute`."""
        connection = await self.connected()
        return await connection.run(script, keys, *arguments)

    async def prompt(self, script: Script, keys: Sequence[str], *arguments: Part) -> Reply:
        """Run a script for somebody who can do without a server that is silent. Raises as `Connection.prompt`."""
        connection = await self.connected()
        return await connection.prompt(script, keys, *arguments)

    async def close(self) -> None:
        """Drop the connection for good; what waits fails."""
        self._closed = True
        async with self._connecting:  # what somebody is opening now would stay open
            self._rested()
            if self._connection is not None:
                self._connection.abort()
        for twin in self._twins:
            await twin.close()
        await asyncio.sleep(0)  # the transport closes its socket with the next turn of the loop

    async def _connect(self) -> Connection:
        async with self._connecting:
            connection = self._connection
            if connection is not None and not connection.lost.done():
                return connection  # somebody else was first
            if self._closed or self._pause is not None:
                # While it rests every caller fails at once: a hundred runs must not queue up at a server that is away.
                raise StoreUnavailable
            try:
                self._connection = await connect(self._address, bounds=self._bounds)
            except StoreUnavailable:
                pause = pause_after(self._failures, self._jitter)
                self._pause = asyncio.get_running_loop().call_later(pause, self._rested)
                self._failures += 1
                raise
            self._failures = 0
            return self._connection

    def _rested(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
