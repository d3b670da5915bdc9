"""Time as an argument: the one shape in which rooms below app/ get it."""

from typing import Protocol


class Clock(Protocol):
    """Wall time for what is stored, monotonic time for what is waited for. Milliseconds."""

    def now_ms(self) -> int: ...

    def monotonic_ms(self) -> int: ...
