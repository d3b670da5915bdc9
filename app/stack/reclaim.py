"""Gives back what a worker held when it died, so that its turns go on elsewhere at once (C15).

* First the lease, then the activity: the next attempt starts within a tenth of a second and must not find the run busy.
* The activity fails by its task token, which names one attempt. By the activity's id the server would take the failure for
  that of a healthy later attempt, and cancel it.
* It is an acceleration, nothing depends on it: whatever is not given back in time is given up by lease and heartbeat.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from temporalio.client import Client as Temporal
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError

from app.holdings import Held, Holdings
from app.settings import Settings
from checkpoints.redis import RedisRunStore
from protocol.errors import StoreUnavailable
from resp.address import parse_address
from resp.client import Client
from resp.keys import Keys
from resp.push import PushConnection
from workflows.connection import connect

logger = logging.getLogger(__name__)

_SECONDS: Final = 2.0  # for all of it: past that the leases have lapsed by themselves
_PAUSE_SECONDS: Final = 0.5
_AT_ONCE: Final = 16  # a worker may die with a hundred turns, and the server has others to serve


class Reclaim:
    """For the workers of one supervisor. Connects when it is first needed, and stays connected."""

    def __init__(self, settings: Settings) -> None:
        address = parse_address(settings.redis_url)
        self._client = Client(address, jitter=random.random)
        self._push = PushConnection(address, jitter=random.random)
        self._store = RedisRunStore(self._client, self._push, keys=Keys(f"{settings.redis_prefix}:"))
        self._settings = settings
        self._temporal: Temporal | None = None

    async def give_back(self, holdings: Holdings) -> None:
        """Give back all of it, as far as that is possible within its time. Never raises."""
        held = list(holdings)
        if not held:
            return
        try:
            temporal = await self._connected()
            async with asyncio.timeout(_SECONDS):
                await self._all(temporal, held)
        except (ConnectionError, TimeoutError):
            logger.warning("a dead worker's turns wait for their heartbeat timeout: Temporal does not answer")

    async def prepare(self) -> None:
        """Connect as soon as there is a server: the turns of a dead worker need not wait for it."""
        while self._temporal is None:
            with suppress(ConnectionError):
                await self._connected()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def close(self) -> None:
        await self._push.close()
        await self._client.close()

    async def _all(self, temporal: Temporal, held: list[Held]) -> None:
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(what: Held) -> None:
            async with places:
                await self._one(temporal, what)

        await asyncio.gather(*map(one, held))

    async def _one(self, temporal: Temporal, held: Held) -> None:
        if held.grip is not None:
            # Not `release`: that is what the living do, and this was a death, to be counted as one (C16).
            with suppress(StoreUnavailable):
                await self._store.renew(held.grip, 0)
        died = ApplicationError("worker died", type="interrupted", category=ApplicationErrorCategory.BENIGN)
        with suppress(RPCError):  # over by then, or given to somebody else: the server tells tokens apart
            await temporal.get_async_activity_handle(task_token=held.token).fail(died)

    async def _connected(self) -> Temporal:
        if self._temporal is None:
            where = self._settings
            self._temporal = await connect(
                where.temporal_address, namespace=where.temporal_namespace, timeout_seconds=_SECONDS
            )
        return self._temporal


@asynccontextmanager
async def reclaiming(settings: Settings) -> AsyncIterator[Reclaim]:
    """One for a supervisor's life, connecting in the background."""
    reclaim = Reclaim(settings)
    preparing = asyncio.create_task(reclaim.prepare())
    try:
        yield reclaim
    finally:
        preparing.cancel()
        await reclaim.close()
