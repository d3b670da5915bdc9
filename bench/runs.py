"""Runs for benches: opened and claimed in a store, without a turn."""

import asyncio
from uuid import uuid4

from checkpoints.port import Append, Claimed, ClaimRequest, Grip, Order, RunStore, Sealed
from resp.connection import Bounds

LEASE_MS = 3_600_000  # nobody renews it
AT_ONCE = 200
PATIENCE = Bounds(connect=10.0, command=30.0, silence=60.0)  # a busy neighbour must not end a bench


async def claimed_runs(store: RunStore, count: int) -> list[Grip]:
    """Fresh runs with an empty log each."""
    grips: list[Grip] = []
    for first in range(0, count, AT_ONCE):
        grips += await asyncio.gather(*[_claimed_run(store) for _ in range(first, min(count, first + AT_ONCE))])
    return grips


async def finish_runs(store: RunStore, runs: list[tuple[Grip, int]], tail: bytes) -> None:
    """End runs at these indices with a last frame each, which is `tail` behind its id line."""
    for first in range(0, len(runs), AT_ONCE):
        await asyncio.gather(*[_finish(store, grip, index, tail) for grip, index in runs[first : first + AT_ONCE]])


async def _claimed_run(store: RunStore) -> Grip:
    run_id = str(uuid4())
    await store.open(run_id, b"{}")
    request = ClaimRequest(order=Order(1, 0, 0), owner="bench", mode="inline", lease_ms=LEASE_MS)
    reply = await store.claim(run_id, request)
    assert isinstance(reply, Claimed)
    return reply.grip


async def _finish(store: RunStore, grip: Grip, index: int, tail: bytes) -> None:
    sealed = await store.seal(grip, Append(start=index), b"{}", stop_seen=True)
    assert isinstance(sealed, Sealed)
    await store.finish(grip, Append(start=index, count=1, payload=b"id: %d\n%b" % (index, tail)), "completed", 600_000)
