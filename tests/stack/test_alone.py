"""The process of a suspect turn as its worker sees it: small programs play its part."""

import asyncio
import sys

import pytest

from app.quarantine import Quarantine
from checkpoints.memory import MemoryRunStore
from checkpoints.port import Claimed, ClaimRequest, Grip, Order
from protocol.errors import ErrorKind, TurnkeepError
from protocol.turn import SliceResult
from runner.port import Job
from tests.rig import StillClock

JOB = Job(run_id="run", order=Order(1, 1, 3), mode="workflow", slice_ms=1_000)
HERE = SliceResult(outcome="ended", status="completed", frames=1)
THERE = SliceResult(outcome="ended", status="completed", frames=2)

SAY = "import sys; print('{\"result\": ' + sys.argv[1] + '}', flush=True)"
CLAIM_AND_DIE = 'import os; print(\'{"attempt": 2, "owner": "alone"}\', flush=True); os.kill(os.getpid(), 9)'
FAIL = 'print(\'{"failed": "unavailable"}\', flush=True)'
LEAVE_WHEN_TOLD = """
import signal, time
def leave(*_):
    print('{"result": {"outcome": "handed_over", "reason": "draining"}}', flush=True)
signal.signal(signal.SIGTERM, leave)
print('{"attempt": 2, "owner": "alone"}', flush=True)
while True:
    signal.pause()
"""


class Here:
    """The worker's own runner."""

    async def run(self, job: Job, drain: asyncio.Event) -> SliceResult:
        return HERE

    async def fail(self, run_id: str, order: Order, kind: ErrorKind) -> SliceResult:
        return HERE


class Claims(list[Grip]):
    """The claims that were told of, and a way to wait for one."""

    def __init__(self) -> None:
        super().__init__()
        self.told = asyncio.Event()

    def __call__(self, grip: Grip) -> None:
        self.append(grip)
        self.told.set()


async def deadly(deaths: int) -> MemoryRunStore:
    """A store with a run that so many executors died of, without a step forward."""
    store = MemoryRunStore(StillClock())
    await store.open("run", b"{}")
    for attempt in range(deaths):
        order, owner = Order(1, 1, attempt + 1), "alone" if attempt else "first"
        claimed = await store.claim("run", ClaimRequest(order=order, owner=owner, mode="workflow"))
        assert isinstance(claimed, Claimed)
        await store.renew(claimed.grip, 0)
    return store


async def suspect() -> MemoryRunStore:
    return await deadly(2)


def quarantine(store: MemoryRunStore, program: str, *words: str, claims: Claims | None = None) -> Quarantine:
    return Quarantine(Here(), store, Claims() if claims is None else claims, (sys.executable, "-c", program, *words))


async def test_only_a_run_that_two_died_of_runs_alone() -> None:
    """C16: a deploy that goes wrong kills many a worker, and none of its turns starts a process for it."""
    once = quarantine(await deadly(1), SAY, THERE.model_dump_json())
    assert [await once.run(JOB, asyncio.Event()), await once.fail("run", JOB.order, "gone")] == [HERE, HERE]

    store = await suspect()
    alone = quarantine(store, SAY, THERE.model_dump_json())

    assert await alone.run(JOB, asyncio.Event()) == THERE
    assert await alone.fail("run", Order(1, 2, 1), "interrupted") == THERE
    first = Job(run_id="run", order=Order(1, 1, 1), mode="workflow")
    assert await alone.run(first, asyncio.Event()) == HERE
    await store.open("other", b"{}")
    other = Job(run_id="other", order=Order(2, 1, 1), mode="workflow")
    assert [await alone.run(other, asyncio.Event()), await alone.fail("other", Order(2, 2, 1), "gone")] == [HERE, HERE]


async def test_a_death_alone_frees_the_run_at_once_and_is_another_attempt() -> None:
    """C16"""
    store, claims = await suspect(), Claims()

    with pytest.raises(TurnkeepError) as failed:
        await quarantine(store, CLAIM_AND_DIE, claims=claims).run(JOB, asyncio.Event())

    view = await store.view("run")
    assert view is not None
    assert (failed.value.kind, failed.value.retryable, list(claims)) == ("interrupted", True, [Grip("run", 2, "alone")])
    assert (view.lease_ms, view.deaths) == (0, 1)


async def test_what_failed_there_fails_here() -> None:
    with pytest.raises(TurnkeepError) as failed:
        await quarantine(await suspect(), FAIL).run(JOB, asyncio.Event())

    assert failed.value.kind == "unavailable"


async def test_a_process_that_does_not_begin_is_done_without() -> None:
    """LAW-P1: nothing would count its attempts."""
    broken = quarantine(await suspect(), "import sys; sys.exit(1)")

    assert await broken.run(JOB, asyncio.Event()) == HERE
    assert await broken.fail("run", Order(1, 2, 1), "interrupted") == HERE


async def test_a_worker_that_leaves_asks_it_to_hand_over() -> None:
    """C16"""
    drain, claims = asyncio.Event(), Claims()
    running = asyncio.create_task(quarantine(await suspect(), LEAVE_WHEN_TOLD, claims=claims).run(JOB, drain))
    await claims.told.wait()

    drain.set()

    assert await running == SliceResult(outcome="handed_over", reason="draining")


async def test_a_worker_that_must_exit_takes_it_along() -> None:
    """C16"""
    store, claims = await suspect(), Claims()
    running = asyncio.create_task(quarantine(store, LEAVE_WHEN_TOLD, claims=claims).run(JOB, asyncio.Event()))
    await claims.told.wait()

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
