"""Deleting a conversation: first for everybody, then its run, then what the stores have of it (FR34)."""

from api.errors import not_found
from api.gate import Gate
from api.ports import ApiParts
from api.stopping import end_run
from protocol.errors import TurnkeepError
from records.values import Key
from runner.forgetting import forget


async def delete_conversation(parts: ApiParts, gate: Gate, key: Key) -> None:
    """Delete it. Raises TurnkeepError: `not_found`, `unavailable`; once it is deleted, nothing."""
    deleted = await parts.records.delete(key, parts.clock.now_ms())
    if deleted is None:
        raise not_found()
    stores = (parts.memory.store, parts.primary.store)
    try:
        if deleted.active_run_id is not None:
            # In good order where that is quick: its readers see an end, and what it has cost is known.
            await end_run(parts, gate, deleted.active_run_id)
        now_ms, kept_ms = parts.clock.now_ms(), parts.limits.log_kept_ms
        await forget(parts.records, stores, deleted, now_ms=now_ms, kept_ms=kept_ms)
    except TurnkeepError:
        pass  # it is deleted; whoever looks after what was left behind does the rest (dispatch/erasure.py)
