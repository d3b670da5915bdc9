"""A turn on a bench: the real runner, a store, real records, a scripted model, and nothing that is not determined.

Clock, ids and pace are the test's. The same rig serves goldens (memory), the HTTP tests and the durable tests; only the
store and who calls the runner differ.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from itertools import count

from assistants.definition import Assistant, Limits
from checkpoints.memory import MemoryRunStore
from checkpoints.outbox import MemoryOutbox, Outbox
from checkpoints.port import Order, RunStore
from frames import sse
from protocol.frames import Frame
from protocol.json import Json
from protocol.model import ModelRequest
from protocol.turn import SliceResult, TurnRequest
from providers.port import Provider
from providers.prices import Price
from providers.script import Script
from providers.scripted import ScriptedProvider
from records.records import Records
from records.values import Begun, Key, TurnBegin
from runner.observe import Observer, Silent, TurnObserver
from runner.parts import Chosen, Parts, RunnerSettings, always_there, no_fault, no_price
from runner.port import Job
from runner.turn import Runner
from tools.declare import Call, Tool, tool

RUN_ID = "00000000-0000-4000-8000-000000000001"
MESSAGE_ID = "msg_" + RUN_ID.replace("-", "")
NOW_MS = 1_800_000_000_000


class StillClock:
    """Time that moves when the test says so."""

    def __init__(self) -> None:
        self.now = NOW_MS

    def now_ms(self) -> int:
        return self.now

    def monotonic_ms(self) -> int:
        return self.now


@dataclass(slots=True)
class Outside:
    """The world that tools act on, counted."""

    effects: list[str] = field(default_factory=list)

    @property
    def tools(self) -> tuple[Tool, ...]:
        @tool(repeat="safe")
        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            return a + b

        @tool(repeat="safe")
        async def weather(city: str) -> dict[str, Json]:
            """The weather in a city."""
            return {"city": city, "celsius": 21}

        @tool(repeat="never")
        async def send(call: Call, text: str) -> str:
            """Send a message."""
            self.effects.append(call.key)
            return f"sent {text}"

        @tool(repeat="safe")
        async def fail() -> str:
            """Always fail."""
            raise ValueError("no such file")

        return (add, weather, send, fail)


@dataclass(kw_only=True)
class Rig:
    """Everything that runs a turn. `pace` is awaited for each gap of the script."""

    records: Records
    clock: StillClock = field(default_factory=StillClock)
    outside: Outside = field(default_factory=Outside)
    store: RunStore = field(default_factory=lambda: MemoryRunStore(StillClock()))
    limits: Limits = field(default_factory=lambda: Limits(tries=1))
    parallel_tools: bool = True
    fast: bool = False
    fault: Callable[[str], Awaitable[None]] = no_fault
    settings: RunnerSettings = field(default_factory=lambda: RunnerSettings(lease_ms=60_000, renew_ms=20_000))
    more_tools: tuple[Tool, ...] = ()
    others: tuple[Assistant, ...] = ()  # who may be asked besides `assistant`
    pace: Callable[[float], Awaitable[None]] = lambda _: asyncio.sleep(0)
    pause: Callable[[float], Awaitable[None]] = lambda _: asyncio.sleep(0)
    observer: Observer = field(default_factory=Silent)
    choose: Callable[[Assistant, TurnRequest], Chosen] | None = None  # instead of the script's model
    reachable: Callable[[], Awaitable[bool]] = always_there
    outbox: Outbox = field(default_factory=MemoryOutbox)
    turn_observers: dict[str, TurnObserver] = field(default_factory=dict)
    price: Callable[[ModelRequest], Price | None] = no_price
    _owners: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def assistant(self) -> Assistant:
        return Assistant(
            name="bench",
            title="Bench",
            instructions="Answer.",
            tools=(*self.outside.tools, *self.more_tools),
            limits=self.limits,
            parallel_tools=self.parallel_tools,
            fast=self.fast,
        )

    def provider(self, script: Script) -> Provider:
        """What plays the script. A test may look over its shoulder."""
        return ScriptedProvider(script, pace=self.pace)

    def runner(self, script: Script) -> Runner:
        """A runner whose model plays this script."""
        return Runner(self.parts(script))

    def parts(self, script: Script) -> Parts:
        """What such a runner is built from."""
        provider = self.provider(script)
        return Parts(
            store=self.store,
            records=self.records,
            assistants={one.name: one for one in (self.assistant, *self.others)},
            choose=self.choose or (lambda _assistant, _request: Chosen(provider, "scripted")),
            clock=self.clock,
            new_owner=lambda: f"owner-{next(self._owners)}",
            observer=self.observer,
            fault=self.fault,
            reachable=self.reachable,
            outbox=self.outbox,
            turn_observers=self.turn_observers,
            pause=self.pause,
            price=self.price,
            settings=self.settings,
        )

    async def begin(self, text: str, run_id: str = RUN_ID, conversation_id: str = "talk") -> TurnRequest:
        """What the route does before a turn is dispatched."""
        request = TurnRequest(
            run_id=run_id,
            conversation_id=conversation_id,
            message_id="msg_" + run_id.replace("-", ""),
            user_message_id="usr_" + run_id.replace("-", ""),
            owner="ada",
            assistant="bench",
            text=text,
            sequence=0,
            created_ms=self.clock.now_ms(),
        )
        begun = await self.records.begin(
            TurnBegin(
                key=Key(owner=request.owner, conversation_id=conversation_id),
                run_id=run_id,
                assistant="bench",
                user_message_id=request.user_message_id,
                message_id=request.message_id,
                parts=({"type": "text", "text": text},),
                now_ms=self.clock.now_ms(),
                create_if_missing=True,
            )
        )
        assert isinstance(begun, Begun), begun
        request = request.model_copy(update={"sequence": begun.sequence})
        await self.store.open(run_id, request.model_dump_json().encode())
        return request

    async def run(
        self, script: Script, *, slice_ms: int | None = None, run_id: str = RUN_ID, first: int = 1
    ) -> list[SliceResult]:
        """Run slices until one ends the turn."""
        results: list[SliceResult] = []
        for number in count(first):
            job = Job(run_id=run_id, order=Order(1, number, 1), mode="workflow", slice_ms=slice_ms)
            results.append(await self.runner(script).run(job, asyncio.Event()))
            if results[-1].outcome != "handed_over":
                break
        return results

    async def frames(self, run_id: str = RUN_ID) -> list[Frame]:
        """The run's log, with dense indices checked."""
        page = await self.store.read(run_id, 0, 64 * 1024 * 1024)
        assert page is not None
        pieces = [piece for entry in page.entries for piece in sse.split(entry.payload)]
        decoded = [sse.decode(piece) for piece in pieces]
        assert [index for index, _ in decoded] == list(range(page.next))
        return [frame for _, frame in decoded]

    def with_limits(self, **changes: float) -> None:
        self.limits = replace(self.limits, **changes)  # type: ignore[arg-type] # each name is a field of its own type
