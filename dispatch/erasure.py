"""Deleted conversations, once they are due: nothing is left of them but a row. And files that no message came to use.

Any process does it, and several at once do no harm. What a process left half done when it died is found here: a run that still
goes on in a deleted conversation is ended, and its logs are erased, long before the conversation is due.
"""

from typing import Final

from checkpoints.port import RunStore
from protocol.clock import Clock
from records.files import SWEPT_AT_ONCE
from records.records import Records
from runner.forgetting import forget

ERASE_SECONDS: Final = 60.0
PAGE: Final = 100
STUCK_MS: Final = 30_000  # who deletes a conversation has done all this long before
UNUSED_FILE_MS: Final = 86_400_000


class Erasure:
    """One process's rounds. `after_ms` is how long a deleted conversation is kept, `kept_ms` a log after its run's end."""

    def __init__(self, records: Records, store: RunStore, clock: Clock, *, after_ms: int, kept_ms: int) -> None:
        self._records = records
        self._store = store
        self._clock = clock
        self._after_ms = after_ms
        self._kept_ms = kept_ms

    async def round(self) -> int:
        """Erase what is due, so much at most; how many conversations that were. Raises TurnkeepError where a part is away."""
        now, erased = self._clock.now_ms(), 0
        due_ms, stuck_ms = now - self._after_ms, now - min(STUCK_MS, self._after_ms)
        for deleted in await self._records.deleted(due_ms, PAGE):
            if not deleted.forgotten and deleted.deleted_ms <= stuck_ms:
                await forget(self._records, (self._store,), deleted, now_ms=now, kept_ms=self._kept_ms)
            if deleted.deleted_ms <= due_ms:
                await self._records.erase(deleted.key, now)
                erased += 1
        while await self._records.files.sweep(now - UNUSED_FILE_MS) == SWEPT_AT_ONCE:
            pass
        return erased
