"""What a supervisor gives back for a dead worker: over a real server and a real store, the death itself left out."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from activities.slices import SliceActivities
from activities.worker import WorkerSettings, build_worker
from app.alerts import Alerts
from app.holdings import Holdings, Report
from app.metrics import Metrics
from app.observe import RunObserver
from app.settings import Settings
from app.stack.reclaim import Reclaim, reclaiming
from checkpoints.redis import RedisRunStore
from protocol.turn import ChatTurnInput
from records.records import Records
from resp.client import Client as StoreClient
from resp.keys import Keys
from resp.push import PushConnection
from tests.rig import Rig
from tests.servers import Server
from tests.temporal import TemporalServer
from tests.workflow.durable import event_types, script_of, start


class Halting:
    """The pace of a model that halts at every gap until it is let go."""

    def __init__(self) -> None:
        self.reached = asyncio.Semaphore(0)
        self.go = asyncio.Event()

    async def __call__(self, _: float) -> None:
        self.reached.release()
        await self.go.wait()


@pytest.fixture
async def store(valkey: Server, keys: Keys) -> AsyncIterator[RedisRunStore]:
    client, push = StoreClient(valkey.address), PushConnection(valkey.address)
    yield RedisRunStore(client, push, keys=keys)
    await push.close()
    await client.close()


@pytest.fixture
async def reclaim(server: TemporalServer, valkey: Server, keys: Keys) -> AsyncIterator[Reclaim]:
    places = {
        "TURNKEEP_TEMPORAL_ADDRESS": server.address,
        "TURNKEEP_REDIS_URL": f"unix://{valkey.address.path}",
        "TURNKEEP_REDIS_PREFIX": keys.meta("").partition(":")[0],
    }
    async with reclaiming(Settings.read(places)) as one:
        yield one


async def test_a_dead_workers_turn_goes_on_at_once_and_its_next_attempt_is_not_harmed(
    client: Client, run_id: str, store: RedisRunStore, reclaim: Reclaim
) -> None:
    """C15: neither lease nor heartbeat timeout has to run out; a token that is out of date fails nothing."""
    ours, theirs = os.pipe()
    report, dead = Report(theirs), Holdings()
    halting = Halting()
    async with await Records.in_memory() as records:
        rig = Rig(
            records=records, store=store, pace=halting, observer=RunObserver(Metrics(), Alerts(""), report.claimed)
        )
        await rig.begin("Count.", run_id=run_id)
        turn = ChatTurnInput(run_id=run_id, heartbeat_ms=60_000)
        runner, drain = rig.runner(script_of(1)), asyncio.Event()
        activities = SliceActivities(runner=runner, store=store, drain=drain, witness=report)
        async with build_worker(client, activities, WorkerSettings(task_queue=run_id, build_id="test")):
            handle = await start(client, turn)
            await halting.reached.acquire()
            dead.hear(os.read(ours, 65_536))

            await reclaim.give_back(dead)
            await halting.reached.acquire()  # the second attempt is as far
            await reclaim.give_back(dead)
            second = await store.view(run_id)
            halting.go.set()

            assert (await handle.result()).status == "completed"
            frames = await rig.frames(run_id)
    assert second is not None
    assert (second.attempt, second.deaths, second.lease_ms > 0) == (2, 1, True)
    assert [frame["type"] for frame in frames].count("data-recovering") == 1
    assert (await event_types(handle)).count("ACTIVITY_TASK_STARTED") == 1
    for end in (ours, theirs):
        os.close(end)
