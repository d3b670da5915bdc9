"""Answers that the records could not take when their runs ended: written as soon as they can (C24).

Every process tries. Settling is conditional on a run that has not ended, so of several that commit the same answer the first
one does, and the others find it done.
"""

import logging
from typing import Final

from checkpoints.outbox import Outbox
from protocol.checkpoint import Seal
from protocol.clock import Clock
from protocol.errors import away
from records.records import Records
from runner.settlement import settlement_of

logger = logging.getLogger(__name__)

REPLAY_SECONDS: Final = 2.0
_PAGE: Final = 100


class OutboxReplay:
    """One process's tries. `waiting` is how many answers were left after the last one."""

    def __init__(self, outbox: Outbox, records: Records, clock: Clock) -> None:
        self._outbox = outbox
        self._records = records
        self._clock = clock
        self.waiting = 0

    async def replay(self) -> None:
        """Commit what waits. Raises TurnkeepError where store or records are away: the next try begins anew."""
        past = ""
        try:
            while page := await self._outbox.waiting(past, _PAGE):
                for run_id in page:
                    await self._commit(run_id)
                past = page[-1]
        finally:
            self.waiting = await self._outbox.size()

    async def _commit(self, run_id: str) -> None:
        sealed = await self._outbox.kept(run_id)
        try:
            if sealed is not None:
                # False: the run's conversation was deleted meanwhile, and its answer goes with it.
                seal = Seal.model_validate_json(sealed)
                stored = await self._records.settle(run_id, settlement_of(seal, self._clock.now_ms()))
                logger.info(
                    "an answer was stored late" if stored else "a late answer has no place any more",
                    extra={"run_id": run_id},
                )
        except Exception as error:
            if away(error):
                raise
            # One that this build cannot store must not hold up the others.
            logger.error("an answer cannot be stored: %s", type(error).__qualname__, extra={"run_id": run_id})  # noqa: TRY400 - it would quote the answer
        else:
            await self._outbox.forget(run_id)
