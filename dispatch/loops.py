"""Work that a process does again and again beside its requests."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

logger = logging.getLogger(__name__)


async def every(seconds: float, work: Callable[[], Awaitable[object]], name: str) -> NoReturn:
    """Do the work for ever. What it raises ends one round, never the loop, and is logged without its text."""
    while True:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - a loop that dies silently is found out when it is needed
            logger.warning("%s: %s", name, type(error).__qualname__)
        await asyncio.sleep(seconds)
