"""Workers under a supervisor, with servers of the test's own, and turns started without an API."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from temporalio.client import Client as Temporal

from app.settings import Settings
from app.stack.output import Output
from app.stack.parts.own import worker
from app.stack.reclaim import reclaiming
from app.stack.supervisor import Supervisor
from assistants.demo import NAME
from checkpoints.redis import RedisRunStore
from frames import sse
from protocol.turn import ChatTurnInput, SliceResult, TurnRequest
from records.migrate import upgrade
from records.records import Records
from records.values import Begun, Key, TurnBegin
from resp.client import Client
from resp.keys import Keys
from resp.push import PushConnection
from tests.servers import Server
from tests.stack.screen import Screen
from tests.temporal import TemporalServer
from workflows.chat_turn import ChatTurn
from workflows.connection import connect


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The workers' world. `screen` shows what they and their supervisor say."""

    screen: Screen
    store: RedisRunStore
    records: Records
    temporal: Temporal
    push: PushConnection
    keys: Keys

    async def ask(
        self, run_id: str, text: str, *, conversation_id: str = "", heartbeat_ms: int = 60_000
    ) -> "asyncio.Task[SliceResult]":
        """Start a turn, in a conversation of its own unless another is named. Its result."""
        key = self.key(conversation_id or run_id)
        request = TurnRequest(
            run_id=run_id,
            conversation_id=key.conversation_id,
            message_id=f"msg_{run_id}",
            user_message_id=f"usr_{run_id}",
            owner="ada",
            assistant=NAME,
            text=text,
            sequence=0,
            created_ms=1,
        )
        begun = await self.records.begin(
            TurnBegin(
                key=key,
                run_id=run_id,
                assistant=NAME,
                user_message_id=request.user_message_id,
                message_id=request.message_id,
                parts=({"type": "text", "text": text},),
                now_ms=1,
                create_if_missing=True,
            )
        )
        assert isinstance(begun, Begun)
        await self.store.open(
            run_id, request.model_copy(update={"sequence": begun.sequence}).model_dump_json().encode()
        )
        turn = ChatTurnInput(run_id=run_id, heartbeat_ms=heartbeat_ms)
        handle = await self.temporal.start_workflow(ChatTurn.run, turn, id=run_id, task_queue=QUEUE)
        return asyncio.create_task(handle.result())

    def key(self, run_id: str) -> Key:
        return Key(owner="ada", conversation_id=run_id)

    async def said(self, run_id: str) -> None:
        """Wait until the model has said something, and the log has it."""
        heard = asyncio.Event()
        await self.push.subscribe(self.keys.live(run_id), lambda payload: heard.set() if TEXT in payload else None)
        if not any(frame["type"] == "text-delta" for frame in await self.frames(run_id)):
            await heard.wait()
        await self.push.unsubscribe(self.keys.live(run_id))

    async def executing(self, run_id: str) -> int:
        """The process that runs the slice of this moment."""
        description = await self.temporal.get_workflow_handle(run_id).describe()
        return int(description.raw_description.pending_activities[0].last_worker_identity.split("@")[0])

    async def frames(self, run_id: str) -> list[dict[str, Any]]:
        """The log so far."""
        page = await self.store.read(run_id, 0, 64 * 1024 * 1024)
        assert page is not None
        pieces = [piece for entry in page.entries for piece in sse.split(entry.payload)]
        return [dict(sse.decode(piece)[1]) for piece in pieces]


_numbers = count(1)  # of the worlds in one store
QUEUE = "watched"
TEXT = b'"type":"text-delta"'


@asynccontextmanager
async def watched(
    folder: Path, valkey: Server, temporal: TemporalServer, *, workers: int, command: Sequence[str], **settings: str
) -> AsyncIterator[Watched]:
    """So many workers, started with this command, and what they need."""
    prefix, database = f"watched{next(_numbers)}", f"sqlite:///{folder}/records.sqlite3"
    await upgrade(database)
    environment = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "TURNKEEP_STATE_DIR": str(folder),
        "TURNKEEP_TASK_QUEUE": QUEUE,
        "TURNKEEP_TEMPORAL_ADDRESS": temporal.address,
        "TURNKEEP_DATABASE_URL": database,
        "TURNKEEP_REDIS_URL": f"unix://{valkey.address.path}",
        "TURNKEEP_REDIS_PREFIX": prefix,
        "CHAT_MODEL": "demo",
        **settings,
    }
    client, push, screen = Client(valkey.address), PushConnection(valkey.address), Screen()
    keys = Keys(f"{prefix}:")
    async with reclaiming(Settings.read(environment)) as reclaim, Records(database) as records:
        parts = [
            replace(
                worker(number, environment=environment, inherited=(), give_back=reclaim.give_back),
                command=tuple(command),
            )
            for number in range(1, workers + 1)
        ]
        supervisor = Supervisor([parts], output=Output(screen), grace_seconds=10)
        try:
            await supervisor.start()
            yield Watched(
                screen=screen,
                store=RedisRunStore(client, push, keys=keys),
                records=records,
                temporal=await connect(temporal.address),
                push=push,
                keys=keys,
            )
        finally:
            supervisor.kill()
            await supervisor.stop()
            await push.close()
            await client.close()
