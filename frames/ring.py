"""The newest stretch of a run's log in memory, shared by all viewers of the run.

A ring knows frames `start` to `end` and takes entries in any order and overlap: what it has is dropped by index, what
would leave a gap is refused. It is bounded in bytes; the oldest entries go first. It does no I/O.
"""

from collections import deque
from typing import Final

from frames.sse import split

# A viewer that keeps up needs the newest entry only, so the ring covers a stall of a second or two; who is further behind
# reads pages of the log. Thousands of runs may be watched at once, and this is what each may cost.
RING_BYTES: Final = 64 * 1024
ENTRY_BYTES: Final = (
    200  # what an entry costs beside its payload: without it, a ring of short frames would weigh thrice
)


def without(payload: bytes, skip: int) -> bytes:
    """A payload without its first `skip` frames."""
    return b"".join(split(payload)[skip:]) if skip else payload


class Ring:
    """Frames `start` to `end` (exclusive) as finished bytes; empty where both are equal."""

    __slots__ = ("_entries", "_joined", "_size", "end", "start")

    def __init__(self, end: int) -> None:
        self.start = end
        self.end = end
        self._entries: deque[tuple[int, bytes]] = deque()  # first index, payload
        self._size = 0
        self._joined = (end, b"")  # the last answer that had to be joined: viewers woken together share it

    def add(self, end: int, count: int, payload: bytes) -> bool:
        """Take the `count` frames before `end`. False where frames in between are missing: then nothing was taken."""
        first = end - count
        if end <= self.end:
            return True
        if first > self.end:
            return False
        payload = without(payload, self.end - first)
        self._entries.append((self.end, payload))
        self._joined = (end, b"")
        self.end = end
        self._size += len(payload) + ENTRY_BYTES
        while self._size > RING_BYTES and len(self._entries) > 1:
            self._size -= len(self._entries.popleft()[1]) + ENTRY_BYTES
            self.start = self._entries[0][0]
        return True

    def forget(self) -> None:
        """Give the frames up; the end stays."""
        self._entries.clear()
        self._joined = (self.end, b"")
        self._size = 0
        self.start = self.end

    def since(self, index: int) -> bytes:
        """The frames from `index` on, for start ≤ index < end. No copy for a viewer that lacks just the newest entry."""
        first, payload = self._entries[-1]
        if first == index:
            return payload
        if self._joined[0] != index:
            self._joined = (index, self._join(index))
        return self._joined[1]

    def _join(self, index: int) -> bytes:
        payloads, at = [], -1
        while (entry := self._entries[at])[0] > index:
            payloads.append(entry[1])
            at -= 1
        payloads.append(without(entry[1], index - entry[0]))
        return b"".join(reversed(payloads))
