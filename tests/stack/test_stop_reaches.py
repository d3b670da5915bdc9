"""How a stop gets to the model call: not with a heartbeat. Here none is due for two minutes."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.gateway import Gateway
from tests.servers import Server
from tests.stack.watched import Watched, watched
from tests.temporal import temporal_server

pytestmark = pytest.mark.timeout(60)

COMMAND = (sys.executable, "-m", "app", "worker")


async def stop(world: Watched) -> None:
    """As the route does it."""
    await world.store.stop("run")


async def cancel(world: Watched) -> None:
    """As an operator does it, at the server; it pushes the cancellation to the worker."""
    await world.temporal.get_workflow_handle("run").cancel()


@pytest.mark.parametrize("way", [stop, pytest.param(cancel, marks=pytest.mark.long)])
async def test_a_stop_does_not_wait_for_a_heartbeat(
    tmp_path: Path, valkey: Server, way: Callable[[Watched], Awaitable[None]]
) -> None:
    """FR30: with the flags of the embedded server, and with the stop in the store."""
    with temporal_server(tmp_path) as temporal:
        async with (
            Gateway() as gateway,
            watched(tmp_path, valkey, temporal, workers=1, command=COMMAND, **gateway.settings) as world,
        ):
            result = await world.ask("run", "Talk.", heartbeat_ms=600_000)
            call = await gateway.call(1)
            await world.said("run")

            await way(world)

            await call.left.wait()
            assert (await result).status == "stopped"
