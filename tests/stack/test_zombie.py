"""A worker that is paused for so long that another takes its turn over, and then goes on (C2, C3, C4)."""

import os
import signal
import sys
from pathlib import Path

import pytest

from engine.fold import fold
from protocol.checkpoint import Message
from records.values import Span
from tests.gateway import Gateway
from tests.servers import Server
from tests.stack.watched import watched
from tests.temporal import temporal_server

pytestmark = pytest.mark.timeout(120)

COMMAND = (sys.executable, "-m", "app", "worker")


@pytest.mark.long
async def test_a_worker_that_comes_back_writes_nothing_and_leaves_its_model_call(
    tmp_path: Path, valkey: Server
) -> None:
    """C2 C3 C4 FR16 LAW-P2"""
    with temporal_server(tmp_path) as temporal:
        async with (
            Gateway() as gateway,
            watched(tmp_path, valkey, temporal, workers=2, command=COMMAND, **gateway.settings) as world,
        ):
            result = await world.ask("run", "Talk.", heartbeat_ms=1_000)
            first = await gateway.call(1)
            await world.said("run")
            zombie = await world.executing("run")

            os.kill(zombie, signal.SIGSTOP)
            second = await gateway.call(2)
            os.kill(zombie, signal.SIGCONT)
            await first.left.wait()
            second.may_end.set()

            assert (await result).status == "completed"
            frames = await world.frames("run")
            view = await world.store.view("run")
            stored = await world.records.messages(world.key("run"), Span())
    assert view is not None
    assert (view.attempt, view.next) == (2, len(frames))
    kinds = [frame["type"] for frame in frames]
    assert [kinds.count(kind) for kind in ("start", "data-recovering", "reset-step", "finish")] == [1, 1, 1, 1]
    message = Message(id="")
    for frame in frames:
        message = fold(message, frame)  # type: ignore[arg-type] # what was read is a frame
    assert stored is not None
    assert [one.parts for one in stored if one.role == "assistant"] == [message.parts]
