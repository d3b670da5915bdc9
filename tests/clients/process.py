"""The API's process as `python -m app api` runs it, and two turns more: a recorded one with sources, and one that is held.

No assistant of ours cites yet, so nothing that runs a turn makes such frames; readers get them all the same. The held turn
goes on when the second argument, the end of a pipe, has something to read.
"""

import asyncio
import json
import socket
import sys
from asyncio import Event
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from app.compose import Core, core
from app.main import serve
from app.observe import nobody
from app.process import run_process
from app.settings import Settings, read_settings
from assistants.demo_model import DemoModel
from checkpoints.outbox import Outbox
from checkpoints.port import Append, Claimed, ClaimRequest, Grip, Order, RunStore
from protocol.checkpoint import Message, Outcome, Seal
from protocol.errors import ErrorKind
from protocol.turn import SliceResult
from records.values import Settlement
from runner.parts import always_there
from runner.port import Job, TurnRunner
from tests.clients.turns import GAP_MS, HELD_MS, SOURCES, question

RECORDED = json.loads((Path(__file__).parents[1] / "cases/fold/sources.json").read_text())
DAY_MS = 86_400_000


class CitingCore(Core):
    """A core whose runners know the recorded turn."""

    def runner(
        self,
        store: RunStore,
        outbox: Outbox,
        *,
        reachable: Callable[[], Awaitable[bool]] = always_there,
        on_claim: Callable[[Grip], None] = nobody,
    ) -> TurnRunner:
        return _Citing(self, store, super().runner(store, outbox, reachable=reachable, on_claim=on_claim))


@dataclass(frozen=True, slots=True)
class _Citing:
    core: Core
    store: RunStore
    others: TurnRunner

    async def run(self, job: Job, drain: Event) -> SliceResult:
        run = await self.core.records.run(job.run_id)
        assert run is not None
        said = await self.core.records.history(run.tenant, run.conversation_id, run.sequence + 1, 1)
        if said[-1].parts[0]["text"] != question(SOURCES):
            return await self.others.run(job, drain)
        claimed = await self.store.claim(
            job.run_id, ClaimRequest(order=job.order, owner="recorded", mode=job.mode, lease_ms=60_000)
        )
        assert isinstance(claimed, Claimed)
        await self._play(claimed.grip, run.message_id)
        return SliceResult(outcome="ended", status="completed")

    async def fail(self, run_id: str, order: Order, kind: ErrorKind) -> SliceResult:
        return await self.others.fail(run_id, order, kind)

    async def _play(self, grip: Grip, message_id: str) -> None:
        *before, last = _pieces(message_id)
        for at, piece in enumerate(before):
            await self.store.append(grip, Append(start=at, count=1, payload=piece))
            await asyncio.sleep(6 * GAP_MS / 1_000)  # it is short, and has to live as long as the others
        parts = tuple(RECORDED["message"]["parts"])
        seal = Seal(
            outcome=Outcome(status="completed", finish_reason="stop"), message=Message(id=message_id, parts=parts)
        )
        await self.store.seal(grip, Append(start=len(before)), seal.model_dump_json().encode(), stop_seen=True)
        settlement = Settlement(status="completed", now_ms=self.core.clock.now_ms(), parts=parts)
        await self.core.records.settle(grip.run_id, settlement)
        await self.store.finish(grip, Append(start=len(before), count=1, payload=last), "completed", DAY_MS)


def _pieces(message_id: str) -> list[bytes]:
    frames: list[dict[str, Any]] = [{"type": "start", "messageId": message_id}, *RECORDED["frames"][1:]]
    return [
        f"id: {index}\nevent: {frame['type']}\ndata: {json.dumps(frame, separators=(',', ':'))}\n\n".encode()
        for index, frame in enumerate(frames)
    ]


@asynccontextmanager
async def citing(settings: Settings) -> AsyncIterator[Core]:
    """What the process is made with instead of `app.compose.core`."""
    loop, go_on = asyncio.get_running_loop(), Event()

    def let_go(pipe: int) -> None:
        loop.remove_reader(pipe)
        go_on.set()

    for pipe in map(int, sys.argv[2:]):
        loop.add_reader(pipe, let_go, pipe)

    async def pace(seconds: float) -> None:
        await (go_on.wait() if seconds >= HELD_MS / 1_000 else asyncio.sleep(seconds))

    async with core(settings) as plain:
        made = {field.name: getattr(plain, field.name) for field in fields(Core)}
        providers = replace(plain.providers, demo=DemoModel(plain.scripts, pace=pace))
        yield CitingCore(**{**made, "providers": providers})


if __name__ == "__main__":
    chosen = read_settings()
    run_process("api", chosen, serve(chosen, socket.socket(fileno=int(sys.argv[1])), compose=citing))
