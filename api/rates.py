"""How often somebody may ask: a sliding window per address and per owner, counted together over all processes.

The counting is the library's (`limits`). While the shared store does not answer, each process counts by itself: a bound that
is too wide for a while is better than a service that refuses everybody (REQ-V6).
"""

import asyncio
import hashlib
import ipaddress
import math
import time
from collections.abc import Mapping
from typing import Any, Final

from limits import RateLimitItem
from limits.aio.storage import MemoryStorage, Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from protocol.errors import TurnkeepError

_HOST_BITS_OF_IPV6: Final = 64  # of one customer: each of their devices has more addresses than one could count


class Rates:
    """Counted windows. `shared` None counts in this process alone; `seconds` bounds one question to it."""

    def __init__(self, shared: Storage | None = None, *, seconds: float = 0.25) -> None:
        self._alone = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._shared = self._alone if shared is None else SlidingWindowCounterRateLimiter(shared)
        self._seconds = seconds

    async def take(self, limit: RateLimitItem | None, what: str, who: str) -> int | None:
        """Count one more, and tell how many are left; None where nothing bounds them.

        Raises:
            TurnkeepError: `rate_limited`, with the seconds to wait as `retry_after`.
        """
        if limit is None:
            return None
        # Hashed: an owner may be an e-mail address, and a name may be long.
        names = (what, hashlib.sha256(who.encode(errors="surrogatepass")).hexdigest()[:32])
        try:
            async with asyncio.timeout(self._seconds):
                return await _take(self._shared, limit, names)
        except (TurnkeepError, TimeoutError) as error:
            if isinstance(error, TurnkeepError) and error.kind == "rate_limited":
                raise
            return await _take(self._alone, limit, names)


async def _take(limiter: SlidingWindowCounterRateLimiter, limit: RateLimitItem, names: tuple[str, str]) -> int:
    admitted = await limiter.hit(limit, *names)
    window = await limiter.get_window_stats(limit, *names)
    if admitted:
        return window.remaining
    now = time.time()  # noqa: TID251 - the library's windows are by this clock
    wait = math.ceil(max(1.0, window.reset_time - now))
    details = {"retry_after": str(min(wait, limit.get_expiry()))}
    raise TurnkeepError("rate_limited", "Too many requests: wait before the next one.", details=details)


def address_of(scope: Mapping[str, Any]) -> str:
    """Where a request comes from: an IPv4 address or a network of IPv6. The server resolved trusted proxies already."""
    host = (scope.get("client") or ("", 0))[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "local"  # a unix socket, and nobody behind it told who asks
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _HOST_BITS_OF_IPV6), strict=False))
