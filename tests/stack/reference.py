"""The same run in one invocation: the application's own parts in this process, over a store in memory, and no pauses."""

import asyncio
from dataclasses import replace
from pathlib import Path

from app.clock import SystemClock
from app.compose import Core, core
from app.settings import Settings
from assistants.demo import NAME
from assistants.demo_model import DemoModel
from checkpoints.memory import MemoryRunStore
from checkpoints.outbox import MemoryOutbox
from checkpoints.port import Order
from frames import sse
from protocol.turn import TurnRequest
from records.migrate import upgrade
from records.values import Key, TurnBegin
from runner.port import Job

OWNER = "somebody"


async def frames_in_one_invocation(
    folder: Path, scripts: Path, *, message: str, run_id: str, conversation_id: str
) -> list[bytes]:
    """The frames as bytes. `folder` is empty and takes records and outbox."""
    settings = Settings.read({
        "CHAT_MODEL": "demo",
        "TURNKEEP_SCRIPTS": str(scripts),
        "TURNKEEP_STATE_DIR": str(folder),
        "TURNKEEP_DATABASE_URL": f"sqlite:///{folder / 'records.sqlite3'}",
    })  # fmt: skip
    await upgrade(settings.database_url)
    store = MemoryRunStore(SystemClock())
    request = _request(message, run_id, conversation_id)
    async with core(settings) as parts:
        await parts.records.begin(_beginning(request))
        await store.open(run_id, request.model_dump_json().encode())
        await (
            _unhurried(parts)
            .runner(store, MemoryOutbox())
            .run(Job(run_id=run_id, order=Order(1, 0, 1), mode="inline"), asyncio.Event())
        )
    page = await store.read(run_id, 0, 64 * 1024 * 1024)
    assert page is not None
    return [piece for entry in page.entries for piece in sse.split(entry.payload)]


def _unhurried(parts: Core) -> Core:
    demo = DemoModel(parts.scripts, pace=lambda _: asyncio.sleep(0))
    return replace(parts, providers=replace(parts.providers, demo=demo))


def _request(message: str, run_id: str, conversation_id: str) -> TurnRequest:
    plain = run_id.replace("-", "")
    return TurnRequest(
        run_id=run_id,
        conversation_id=conversation_id,
        message_id=f"msg_{plain}",
        user_message_id=f"usr_{plain}",
        owner=OWNER,
        assistant=NAME,
        text=message,
        sequence=0,
        created_ms=0,
    )


def _beginning(request: TurnRequest) -> TurnBegin:
    return TurnBegin(
        key=Key(owner=OWNER, conversation_id=request.conversation_id),
        run_id=request.run_id,
        assistant=request.assistant,
        user_message_id=request.user_message_id,
        message_id=request.message_id,
        parts=({"type": "text", "text": request.text},),
        now_ms=request.created_ms,
        create_if_missing=True,
    )
