"""Answers that the records could not take at the end of their runs: kept until they do (C24).

Laws (`tests/contract/test_outbox.py`)
 O1  What `keep` stored is returned by `kept` until `forget`, whatever becomes of the run's other keys: nothing in here
     expires. Keeping a run again is harmless.
 O2  `waiting` lists every kept run once, in the order of their ids, from the one after `past` on, at most `limit`.
 O3  `forget` removes a run for good; forgetting again, or one that was never kept, is harmless.
 O4  `size` counts the kept runs.

A run is kept before its log says that the answer is not stored, so that nobody was told so about an answer that is lost.
"""

from bisect import bisect_right
from typing import Protocol


class Outbox(Protocol):
    """The port. Every method may raise `StoreUnavailable`: then nothing is known about the write."""

    async def keep(self, run_id: str, seal: bytes) -> None: ...

    async def waiting(self, past: str, limit: int) -> tuple[str, ...]:
        """Run ids; `past` "" lists from the first."""
        ...

    async def kept(self, run_id: str) -> bytes | None: ...

    async def forget(self, run_id: str) -> None: ...

    async def size(self) -> int: ...


class MemoryOutbox:
    """An outbox in this process, for runs that live in it, and for tests."""

    def __init__(self) -> None:
        self._seals: dict[str, bytes] = {}

    async def keep(self, run_id: str, seal: bytes) -> None:
        self._seals[run_id] = seal

    async def waiting(self, past: str, limit: int) -> tuple[str, ...]:
        names = sorted(self._seals)
        begin = bisect_right(names, past)
        return tuple(names[begin : begin + limit])

    async def kept(self, run_id: str) -> bytes | None:
        return self._seals.get(run_id)

    async def forget(self, run_id: str) -> None:
        self._seals.pop(run_id, None)

    async def size(self) -> int:
        return len(self._seals)
