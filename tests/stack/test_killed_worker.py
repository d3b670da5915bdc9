"""A supervised worker that is killed in the middle of a text. Neither its lease nor its heartbeat runs out within this test."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.gateway import Gateway
from tests.servers import Server
from tests.stack.watched import watched
from tests.temporal import temporal_server

pytestmark = pytest.mark.timeout(60)

COMMAND = (sys.executable, "-m", "app", "worker")


async def test_the_turns_of_a_killed_worker_go_on_at_once(tmp_path: Path, valkey: Server) -> None:
    """C15 FR16: all of them, each by its task token, on the worker that is left."""
    runs = ["one", "two", "three"]
    with temporal_server(tmp_path) as temporal:
        async with Gateway() as gateway:
            settings = gateway.settings | {"TURNKEEP_LEASE_MS": "60000"}
            async with watched(tmp_path, valkey, temporal, workers=2, command=COMMAND, **settings) as world:
                results = [await world.ask(run, "Talk.", heartbeat_ms=600_000) for run in runs]
                for run in runs:
                    await world.said(run)
                killed = await world.executing("one")
                struck = [run for run in runs if await world.executing(run) == killed]

                os.kill(killed, signal.SIGKILL)
                for number in range(1, len(runs) + len(struck) + 1):
                    (await gateway.call(number)).may_end.set()

                assert [(await one).status for one in results] == ["completed"] * len(runs)
                views = [await world.store.view(run) for run in runs]
    attempts = {run: view.attempt for run, view in zip(runs, views, strict=True) if view}
    assert attempts == {run: 1 + (run in struck) for run in runs}
