"""A deployment in which things are made to die, and readers who note when they heard what.

The model is behind the wire of the Messages API and says a word every 20 ms for as long as it is listened to, so a turn has no
boundary to go on from: the worst case.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx2
from temporalio.client import Client as Temporal

from app.settings import Settings
from app.stack.output import Output
from app.stack.parts.own import worker
from app.stack.reclaim import reclaiming
from app.stack.supervisor import Supervisor
from bench.processes import deploy, serving_api
from tests.gateway import Gateway
from tests.servers import Server, running_server
from tests.stack.reading import FrameReader, asking
from tests.stack.screen import Screen
from tests.temporal import temporal_server
from workflows.connection import connect

PATIENCE: Final = 60.0
WORDS: Final = 10  # said before anything dies


@dataclass(slots=True)
class Turn:
    """A reader and what came when: seconds of the monotonic clock and the frame's type."""

    reader: FrameReader
    seen: list[tuple[float, str]] = field(default_factory=list)
    frames: list[bytes] = field(default_factory=list)
    more: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def run_id(self) -> str:
        return self.reader.response.headers["x-chat-run-id"]

    async def read(self) -> None:
        async for frame in self.reader:
            kind = frame.partition(b"event: ")[2].partition(b"\n")[0].decode()
            async with self.more:
                self.frames.append(frame)
                self.seen.append((time.monotonic(), kind))
                self.more.notify_all()

    async def until(self, kind: str, times: int = 1) -> int:
        """Wait until it came so often. Its place among all that came."""

        def places() -> list[int]:
            return [at for at, (_, seen) in enumerate(self.seen) if seen == kind]

        async with self.more, asyncio.timeout(PATIENCE):
            await self.more.wait_for(lambda: len(places()) >= times)
        return places()[times - 1]

    @property
    def missing(self) -> int:
        """How many frames up to the last one did not come; one, too, where the end did not."""
        indices = {int(frame.split()[1]) for frame in self.frames}
        return max(indices) + 1 - len(indices) + (not self.reader.done)


@dataclass(kw_only=True)
class House:
    """The deployment under test."""

    client: httpx2.AsyncClient
    temporal: Temporal
    gateway: Gateway
    valkey: Server
    screen: Screen

    @asynccontextmanager
    async def talking(self, turns: int) -> AsyncIterator[list[Turn]]:
        """So many turns in the middle of their text; stopped at the end."""
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            begun = [
                Turn(await stack.enter_async_context(asking(self.client, "Talk.", conversation_id=str(uuid4()))))
                for _ in range(turns)
            ]
            for turn in begun:
                group.create_task(turn.read())
            for turn in begun:
                await turn.until("text-delta", WORDS)
            yield begun
            for turn in begun:
                await self.stop(turn)
                await turn.until("finish")

    async def stop(self, turn: Turn) -> None:
        answer = await self.client.post(f"/api/chat/{turn.reader.handle}/stop")
        assert answer.status_code < 300, answer.text

    async def executing(self, turn: Turn) -> int:
        """The process that runs it."""
        description = await self.temporal.get_workflow_handle(turn.run_id).describe()
        return int(description.raw_description.pending_activities[0].last_worker_identity.split("@")[0])

    async def hit(self, turns: list[Turn], number: signal.Signals) -> tuple[float, list[Turn]]:
        """Send the signal to the worker of the first of them. When, and whose turns it had."""
        victims = [await self.executing(turn) for turn in turns]
        ready = self.screen.getvalue().count("is ready")
        at = time.monotonic()
        os.kill(victims[0], number)
        struck = [turn for turn, victim in zip(turns, victims, strict=True) if victim == victims[0]]
        self._expected = ready + 1
        return at, struck

    async def whole_again(self) -> None:
        """Wait until there are as many workers as before."""
        await self.screen.shows("is ready", self._expected)


@asynccontextmanager
async def house(folder: Path, *, supervised: bool) -> AsyncIterator[House]:
    """Store, Temporal, two workers, API and the model, all of their own. Not supervised: nobody gives anything back."""
    with running_server("valkey", append_only=True) as valkey, temporal_server(folder) as temporal:
        async with Gateway() as gateway:
            deployment = await deploy(folder, valkey.address, temporal=temporal.address, **gateway.settings)
            environment, screen = dict(deployment.environment), Screen()
            async with reclaiming(Settings.read(environment)) as reclaim:
                give_back = reclaim.give_back if supervised else None
                parts = [worker(n, environment=environment, inherited=(), give_back=give_back) for n in (1, 2)]
                supervisor = Supervisor([parts], output=Output(screen), grace_seconds=10, longest_pause=0.1)
                try:
                    await supervisor.start()
                    with serving_api(deployment) as api:
                        url, limits = f"http://127.0.0.1:{api.address[1]}", httpx2.Limits(max_connections=None)
                        async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE, limits=limits) as client:
                            await client.get("/api/conversations")
                            server = await connect(temporal.address)
                            yield House(client=client, temporal=server, gateway=gateway, valkey=valkey, screen=screen)
                finally:
                    supervisor.kill()
                    await supervisor.stop()
