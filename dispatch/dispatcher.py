"""Who executes a turn: decided per request, without waiting for anybody.

The answer is a transport, not a promise. A start that fails becomes an inline run, and an inline run that finds somebody
else at work ends: the claim makes one execution of all of them (REQ-C2). A run on the memory store is never offered to
Temporal, because nothing would keep the two apart (C6).
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, NoReturn, Self

from checkpoints.outbox import MemoryOutbox, Outbox
from checkpoints.port import Order, RunView
from dispatch.caretaker import CareParts, Caretaker, next_order
from dispatch.decide import Decision, decide
from dispatch.inline import InlineTurns
from dispatch.loops import every
from dispatch.outbox import REPLAY_SECONDS, OutboxReplay
from dispatch.starter import Starter
from dispatch.switch import from_json
from dispatch.temporal import Started
from protocol.errors import TurnkeepError
from protocol.json import JsonObject
from protocol.turn import ChatTurnInput, Transport, TurnRequest
from runner.port import TurnRunner

FIRST: Final = Order(1, 0, 1)  # of an inline executor: below every slice, so that a workflow stands by behind it
LEASE_MARGIN_MS: Final = 20  # the store's clock is not ours
TOUCH_SECONDS: Final = 10.0  # how often a memory run says that its process lives; well within the sweeper's patience


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchParts:
    """What a dispatcher is built from. `on_decision` is told of every decision, for metrics; it must not raise."""

    care: CareParts
    runner: TurnRunner
    memory_runner: TurnRunner
    memory_outbox: Outbox = field(default_factory=MemoryOutbox)
    grace_seconds: float = 10.0
    on_decision: Callable[[Decision], None] = field(default=lambda _: None)


class Dispatcher:
    """Keeps `api.ports.Dispatch`. Entered, it watches the switch, the server and the orphans; left, it hands over."""

    def __init__(self, parts: DispatchParts) -> None:
        self._parts = parts
        self._shared = parts.care
        self._starter = Starter(parts.care.workflows, parts.care.clock)
        self._inline = InlineTurns(parts.runner)
        self._memory = InlineTurns(parts.memory_runner, resumable=False)
        self._memory_late = OutboxReplay(parts.memory_outbox, parts.care.records, parts.care.clock)
        self.care = Caretaker(parts.care, self._starter, self._inline)
        self._loops: list[asyncio.Task[NoReturn]] = []
        self._work: set[asyncio.Task[None]] = set()  # starts and adoptions on their way, each of them bounded

    async def __aenter__(self) -> Self:
        await self.care.__aenter__()
        loops = (
            every(TOUCH_SECONDS, self._touch_memory, "touching memory runs"),
            every(REPLAY_SECONDS, self._memory_late.replay, "bringing late answers to the records"),
        )
        self._loops = [asyncio.create_task(loop) for loop in loops]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for loop in self._loops:
            loop.cancel()
        await self.care.__aexit__(kind, error, trace)
        await self.drain()

    @property
    def breaker_open(self) -> bool:
        """Whether turns run inline because Temporal does not answer. For metrics."""
        return self._starter.breaker_open

    async def drain(self) -> None:
        """Take no more turns and hand over those that run here, within the grace period. May be called again."""
        await self.decided()
        grace = self._parts.grace_seconds
        await asyncio.gather(self._inline.drain(grace), self._memory.drain(grace))

    async def decided(self) -> None:
        """Wait until every start and adoption on its way has found out who executes."""
        while self._work:
            await asyncio.wait(self._work)
        await self.care.settled()

    async def probe(self) -> None:
        """Ask the server once and tell the breaker."""
        await self._starter.probe()

    async def start(self, request: TurnRequest) -> Transport:
        shared = self._shared
        turn = ChatTurnInput(run_id=request.run_id, slice_ms=shared.slice_ms, heartbeat_ms=shared.heartbeat_ms)
        decision = decide(
            request.owner,
            switch=shared.switch.current,
            breaker_open=self._starter.breaker_open,
            envelope_bytes=len(turn.model_dump_json()),
        )
        self._parts.on_decision(decision)
        if decision.transport == "inline":
            self._inline.begin(request.run_id, FIRST)
        else:
            self._spawn(self._start_workflow(turn))
        return decision.transport

    async def start_memory(self, request: TurnRequest) -> None:
        self._memory.begin(request.run_id, FIRST)

    async def nudge(self, run_id: str) -> None:
        self._spawn(self._take_up(run_id))

    async def wake(self, run_id: str, *, memory: bool = False) -> None:
        if memory:
            self._memory.begin(run_id, FIRST)
        else:
            self._spawn(self._wake(run_id))

    async def status(self) -> JsonObject:
        return {
            "switch": self._shared.switch.current.to_json(),
            "breaker": "open" if self._starter.breaker_open else "closed",
            "inline": len(self._inline),
            "memory": len(self._memory),
            "late": self.care.late + self._memory_late.waiting,
        }

    async def set_switch(self, value: JsonObject) -> JsonObject:
        await self._shared.switch.set(from_json(value.get("switch")))
        return await self.status()

    async def _start_workflow(self, turn: ChatTurnInput) -> None:
        match await self._starter.start(turn):
            case Started.RUNNING:
                pass
            case Started.CLOSED:  # it ended with its run, or before it: the store knows
                await self._take_up(turn.run_id)
            case Started.UNKNOWN:
                self._parts.on_decision(Decision(transport="inline", reason="start_failed"))
                self._inline.begin(turn.run_id, FIRST)

    async def _take_up(self, run_id: str) -> None:
        """Adopt the run if nobody holds it. An executor that died holds its lease a little longer: wait for that."""
        view = await self._view(run_id)
        if view is not None and view.lease_ms:
            await asyncio.sleep((view.lease_ms + LEASE_MARGIN_MS) / 1_000)
            view = await self._view(run_id)
        if view is not None and view.state != "ended" and not view.lease_ms:
            self._inline.begin(run_id, next_order(view))
            if view.state == "parked" and view.mode == "workflow":
                # It would wait for days to learn that the run is over.
                await self._shared.workflows.wake(run_id, view.order.generation)

    async def _wake(self, run_id: str) -> None:
        """Have an input taken in. Who executes the run hears of it; a parked one goes on where it was (C22)."""
        view = await self._view(run_id)
        if view is None or view.lease_ms or view.state in ("open", "ended"):
            return
        if view.mode == "workflow" and await self._shared.workflows.wake(run_id, view.order.generation):
            return
        if view.state == "parked":
            self._inline.begin(run_id, next_order(view))

    async def _view(self, run_id: str) -> RunView | None:
        try:
            return await self._shared.store.view(run_id)
        except TurnkeepError:
            return None  # the sweeper finds the run when the store is back

    async def _touch_memory(self) -> None:
        now = self._shared.clock.now_ms()
        await asyncio.gather(
            *(self._shared.records.running(run_id, "inline", now) for run_id in self._memory.run_ids())
        )

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
