"""How long an executor puts up with a store or a database that is away."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from protocol.errors import StoreUnavailable, TurnkeepError
from runner.parts import Parts

RETRY_SECONDS = 0.05  # between tries: far below what a reader notices

Reply = TypeVar("Reply")


async def patiently(parts: Parts, call: Callable[[], Awaitable[Reply]]) -> Reply:
    """Ask again while what is asked does not answer, and hold what the turn has cost so far meanwhile.

    The call must be harmless to repeat: it may have happened. Raises StoreUnavailable once `store_patience_ms` are over.
    """
    give_up = parts.clock.monotonic_ms() + parts.settings.store_patience_ms
    while True:
        try:
            return await call()
        except TurnkeepError as error:
            if error.kind != "unavailable":
                raise
            if parts.clock.monotonic_ms() >= give_up:
                raise StoreUnavailable(error.message) from None
            await asyncio.sleep(RETRY_SECONDS)
