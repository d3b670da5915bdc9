"""The switch where it is kept, and what this process knows of it.

Every process polls, so that a flip is seen everywhere within two seconds whatever becomes of a message about it. While the
store is away the last value counts: an operator's "off" must not be undone by the outage it was meant for.
"""

import logging
from collections.abc import Callable
from typing import Final, Protocol

from dispatch.switch import Switch, from_text
from protocol.errors import TurnkeepError

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 1.0


class SwitchStore(Protocol):
    """Where all processes find the switch. Methods may raise StoreUnavailable."""

    async def get(self) -> str | None:
        """The stored spelling, None where nobody has set one."""
        ...

    async def set(self, value: str) -> None: ...


class MemorySwitch:
    """A switch of this process alone."""

    def __init__(self, value: str | None = None) -> None:
        self._value = value

    async def get(self) -> str | None:
        return self._value

    async def set(self, value: str) -> None:
        self._value = value

    def clear(self) -> None:
        self._value = None


class SwitchWatch:
    """The last value seen. `default` counts while nobody has set one; `on_change` is told of every other value."""

    def __init__(
        self, store: SwitchStore, *, default: Switch, on_change: Callable[[Switch], None] | None = None
    ) -> None:
        self._store = store
        self._default = default
        self._on_change = on_change
        self._refused: str | None = None
        self.current = default

    async def refresh(self) -> None:
        """Look once. Never raises for a store that is away or a value that is no switch."""
        try:
            stored = await self._store.get()
        except TurnkeepError:
            return
        try:
            self._see(self._default if stored is None else from_text(stored))
        except TurnkeepError as error:
            if stored != self._refused:
                logger.warning("the stored switch is not one, the last one stays in force: %s", error.message)
        self._refused = stored

    async def set(self, switch: Switch) -> None:
        """Store it for every process. Raises StoreUnavailable, and then nothing has changed here."""
        await self._store.set(switch.to_text())
        self._see(switch)

    def _see(self, switch: Switch) -> None:
        if switch == self.current:
            return
        self.current = switch
        logger.info("%d percent of turns are durable now, and %d named owners'", switch.percent, len(switch.allow))
        if self._on_change is not None:
            self._on_change(switch)
