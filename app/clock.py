"""The one clock: everything below app/ gets it as an argument."""

import time


class SystemClock:
    """Keeps `protocol.clock.Clock` with the machine's time."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
