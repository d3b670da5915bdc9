"""What a deleted conversation takes with it: its runs are ended and their logs erased, wherever that can be reached (C5, FR34).

The conversation is deleted in the records first, so nothing begins in it any more and nothing is added to it. An executor that
is still there finds its run missing, asks the records, and stops; an answer that waits in the outbox finds no place. Every step
may be repeated.
"""

from collections.abc import Sequence

from checkpoints.port import RunStore
from records.records import Records
from records.values import Deleted, Settlement


async def forget(records: Records, stores: Sequence[RunStore], deleted: Deleted, *, now_ms: int, kept_ms: int) -> None:
    """End the conversation's run and erase its logs; `kept_ms` is how long a store keeps one after its end.

    Raises TurnkeepError where records or a store are away.
    """
    for run_id in await records.runs_with_logs(deleted.key, now_ms - kept_ms):
        for store in stores:
            await store.erase(run_id)
    if deleted.active_run_id is not None:
        # Unless it has ended, and with what it cost so far: somebody stopped it by deleting where it stood.
        await records.settle(deleted.active_run_id, Settlement(status="stopped", now_ms=now_ms))
    await records.forgotten(deleted.key, now_ms)
