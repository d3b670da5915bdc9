"""The keys with which an issuer signs: read where somebody needs them, kept, and read again when they may have changed.

Rules
 - A key that is not known is asked for at most once in PAUSE_MS, however many tokens name one: made-up ids must not turn into
   requests to the issuer. One question at a time.
 - Keys are read anew after KEEP_MS, so that one that was withdrawn stops counting. While the issuer does not answer, those
   known count on, up to STALE_MS; then, and before the first answer, nobody is let in (503).
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from jwt import PyJWK
from jwt.exceptions import PyJWTError

from protocol.clock import Clock
from protocol.errors import TurnkeepError

logger = logging.getLogger(__name__)

PAUSE_MS: Final = 10_000
KEEP_MS: Final = 600_000
STALE_MS: Final = 86_400_000

Source = Callable[[], Awaitable[bytes]]  # a JWK set as JSON; raises OSError or ValueError where there is none


class KeySet:
    """The issuer's keys by their ids."""

    def __init__(self, source: Source, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._keys: dict[str, PyJWK] = {}
        self._read_ms: int | None = None
        self._asked_ms: int | None = None
        self._asking = asyncio.Lock()

    async def key(self, key_id: str) -> PyJWK | None:
        """The key of this id, None where the issuer has none. Raises TurnkeepError: `unavailable`."""
        if self._due(key_id):
            async with self._asking:
                if self._due(key_id):  # whoever waited finds what the first one read
                    await self._ask()
        if self._read_ms is None or self._clock.monotonic_ms() - self._read_ms > STALE_MS:
            raise TurnkeepError("unavailable", "Who you are cannot be checked at the moment.")
        return self._keys.get(key_id)

    def _due(self, key_id: str) -> bool:
        now = self._clock.monotonic_ms()
        if self._asked_ms is None:
            return True
        if now - self._asked_ms < PAUSE_MS:
            return False
        return key_id not in self._keys or self._read_ms is None or now - self._read_ms >= KEEP_MS

    async def _ask(self) -> None:
        self._asked_ms = self._clock.monotonic_ms()
        try:
            self._keys = _parse(await self._source())
        except (OSError, ValueError) as error:
            logger.warning("the issuer's keys could not be read: %s", type(error).__name__)
        else:
            self._read_ms = self._clock.monotonic_ms()


def _parse(content: bytes) -> dict[str, PyJWK]:
    """The public keys of a set that have an id and are for signing; others are left out. Raises ValueError."""
    try:
        listed = [*json.loads(content)["keys"]]
    except (KeyError, TypeError):
        raise ValueError("no set of keys") from None
    found: dict[str, PyJWK] = {}
    for one in listed:
        # A symmetric key would let whoever can check a token make one.
        if isinstance(one, dict) and one.get("kty") != "oct" and one.get("use", "sig") == "sig" and one.get("kid"):
            try:
                found[str(one["kid"])] = PyJWK(one)
            except PyJWTError:
                logger.warning("one of the issuer's keys is of a kind that is not known here")
    return found
