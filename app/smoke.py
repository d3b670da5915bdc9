"""The smoke turn: one scripted turn through the real parts of this deployment, and what came of it in numbers."""

import asyncio
from typing import Final
from uuid import uuid4

from app.compose import Core
from assistants import demo
from checkpoints.port import Order
from dispatch.temporal import Started, Workflows
from frames import sse
from frames.hub import Hub
from protocol.errors import TurnkeepError
from protocol.frames import Frame
from protocol.json import JsonObject
from protocol.turn import ChatTurnInput, SliceResult, Transport, TurnRequest
from records.values import Begun, Key, TurnBegin
from runner.port import Job

SCRIPT: Final = "smoke"
OWNER: Final = "smoke"
_SLICE_MS: Final = 1  # hand over at every boundary
_BOUND_SECONDS: Final = 60.0


class Smoke:
    """Runs smoke turns. `hub` reads what they write."""

    def __init__(self, core: Core, workflows: Workflows, hub: Hub) -> None:
        self._core = core
        self._workflows = workflows
        self._hub = hub
        self._runner = core.runner(core.store, core.outbox)
        self._turns: set[asyncio.Task[SliceResult]] = set()  # inline ones that run; a task that nobody holds may vanish

    async def __call__(self, transport: Transport) -> JsonObject:
        """Run one. `ok` says that it completed, on this transport, with one end and nothing after it.

        Raises:
            TurnkeepError: a part did not answer.
        """
        begun_ms = self._core.clock.monotonic_ms()
        request = await self._begin(str(uuid4()))
        outcome: JsonObject = {"transport": transport, "runId": request.run_id}
        if not await self._execute(request, transport):
            return {"ok": False, **outcome, "status": "not started"}
        try:
            frames = await asyncio.wait_for(self._frames(request.run_id), _BOUND_SECONDS)
        except TimeoutError:
            return {"ok": False, **outcome, "status": "timeout"}
        view = await self._core.store.view(request.run_id)
        status, slices = (view.status, view.order.slice) if view else ("missing", 0)
        types = [frame["type"] for frame in frames]
        ended = types.count("finish") == 1 and types[-1] == "finish"
        return {
            "ok": status == "completed" and ended and (slices > 1) == (transport == "workflow"),
            **outcome,
            "status": status,
            "frames": len(frames),
            "slices": slices,
            "elapsedMs": self._core.clock.monotonic_ms() - begun_ms,
        }

    async def _begin(self, run_id: str) -> TurnRequest:
        """The rows and keys that the route makes for a turn. Each smoke turn is a conversation of its own."""
        now_ms, plain = self._core.clock.now_ms(), run_id.replace("-", "")
        conversation = f"smoke-{plain}"
        text = self._core.scripts[SCRIPT].input
        beginning = await self._core.records.begin(
            TurnBegin(
                key=Key(owner=OWNER, conversation_id=conversation),
                run_id=run_id,
                assistant=demo.NAME,
                user_message_id=f"usr_{plain}",
                message_id=f"msg_{plain}",
                parts=({"type": "text", "text": text},),
                now_ms=now_ms,
                create_if_missing=True,
            )
        )
        if not isinstance(beginning, Begun):
            raise TurnkeepError("unavailable", "The smoke turn could not begin.")
        request = TurnRequest(
            run_id=run_id,
            conversation_id=conversation,
            message_id=f"msg_{plain}",
            user_message_id=f"usr_{plain}",
            owner=OWNER,
            assistant=demo.NAME,
            text=text,
            sequence=beginning.sequence,
            created_ms=now_ms,
            script=SCRIPT,
        )
        await self._core.store.open(run_id, request.model_dump_json().encode())
        return request

    async def _execute(self, request: TurnRequest, transport: Transport) -> bool:
        """Have it executed. False where Temporal did not take it."""
        if transport == "workflow":
            started = await self._workflows.start(ChatTurnInput(run_id=request.run_id, slice_ms=_SLICE_MS))
            return started is Started.RUNNING
        job = Job(run_id=request.run_id, order=Order(1, 0, 1), mode="inline")
        turn = asyncio.create_task(self._runner.run(job, asyncio.Event()))
        self._turns.add(turn)
        turn.add_done_callback(self._turns.discard)
        return True

    async def _frames(self, run_id: str) -> list[Frame]:
        """All frames, read as a reader gets them."""
        viewer = await self._hub.attach(run_id, 0)
        try:
            payload = b""
            while not viewer.ended:
                payload += await viewer.next(_BOUND_SECONDS) or b""
        finally:
            viewer.close()
        return [sse.decode(piece)[1] for piece in sse.split(payload)]
