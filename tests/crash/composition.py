"""The processes under test: app/'s own composition, with points around what has effects and with scripted assistants.

Each model call says something that no other call says, so that text of two attempts can never be taken for one another.
"""

import secrets
from asyncio import Event
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

from app.compose import Core, core
from app.observe import nobody
from app.settings import Settings
from assistants.definition import Assistant
from assistants.outbox import Note, Outbox
from checkpoints.outbox import Outbox as KeptAnswers
from checkpoints.port import Grip, Order, RunStore
from protocol.errors import ErrorKind
from protocol.json import JsonObject
from protocol.turn import SliceResult, TurnRequest
from providers.choose import SCRIPTED
from providers.script import Script, TextEvent
from providers.scripted import ScriptedProvider
from runner.parts import Chosen, Parts, always_there
from runner.port import Job, TurnRunner
from runner.turn import Runner
from tests.crash.bugs import STORES
from tests.crash.points import Points
from tests.crash.store import PointedStore
from tools.declare import Call, Tool, tool

SCRIPTS: Final = Path(__file__).parent / "turns"
OUTBOX: Final = "outside.jsonl"
NEXT: Final = "next"  # the short turn that follows to see whether the conversation is free
SALT: Final = "{salt}"


def names() -> list[str]:
    """The scripted turns, which are assistants here."""
    return sorted(path.stem for path in SCRIPTS.glob("*.jsonl"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PointedCore(Core):
    """A core whose runners stop at points."""

    points: Points

    def runner(
        self,
        store: RunStore,
        outbox: KeptAnswers,
        *,
        reachable: Callable[[], Awaitable[bool]] = always_there,
        on_claim: Callable[[Grip], None] = nobody,
    ) -> TurnRunner:
        parts = self.parts(store, outbox, reachable=reachable, on_claim=on_claim)
        return _PointedRunner(replace(parts, choose=self._salted), self.points)

    def _salted(self, assistant: Assistant, _: TurnRequest) -> Chosen:
        script = self.scripts[assistant.model.removeprefix(SCRIPTED)]
        return Chosen(ScriptedProvider(_salted(script, secrets.token_hex(4))), assistant.model)


class _PointedRunner:
    """Gives each run's parts the points of that run."""

    def __init__(self, parts: Parts, points: Points) -> None:
        self._parts = parts
        self._points = points

    async def run(self, job: Job, drain: Event) -> SliceResult:
        return await self._of(job.run_id).run(job, drain)

    async def fail(self, run_id: str, order: Order, kind: ErrorKind) -> SliceResult:
        return await self._of(run_id).fail(run_id, order, kind)

    def _of(self, run_id: str) -> Runner:
        return Runner(replace(self._parts, fault=self._points.of(run_id)))


def composition(folder: Path, bug: str) -> Callable[[Settings], AbstractAsyncContextManager[Core]]:
    """What app/'s processes are made with instead of `app.compose.core`. `bug` is one of those in `tests.crash.bugs`, or ""."""

    @asynccontextmanager
    async def pointed(settings: Settings) -> AsyncIterator[Core]:
        async with core(settings) as plain:
            points = Points(folder)
            store = STORES.get(bug, PointedStore)(plain, points, folder)
            tools = _tools(points, Outbox(folder / OUTBOX))
            assistants = dict(plain.assistants) | {name: _assistant(name, tools) for name in names()}
            values = {field.name: getattr(plain, field.name) for field in fields(Core)}
            yield PointedCore(**{**values, "store": store, "assistants": assistants, "points": points})

    return pointed


def _assistant(name: str, tools: tuple[Tool, ...]) -> Assistant:
    return Assistant(name=name, title=name, instructions="Play.", model=f"{SCRIPTED}{name}", tools=tools)


def _tools(points: Points, outside: Outbox) -> tuple[Tool, ...]:
    """Two tools that leave a line outside: one that may be called again with the same key, and one that may not."""

    async def act(call: Call, name: str) -> JsonObject:
        await points.passes(call.run_id, f"{name}.started")
        await outside.append(Note(key=call.key, owner=call.owner, text=name))
        await points.passes(call.run_id, f"{name}.done")
        return {"done": name}

    @tool(repeat="never")
    async def send(call: Call) -> JsonObject:
        """Send something."""
        return await act(call, "send")

    @tool(repeat="safe")
    async def look(call: Call) -> JsonObject:
        """Look something up."""
        return await act(call, "look")

    return (send, look)


def _salted(script: Script, salt: str) -> Script:
    calls = []
    for number, call in enumerate(script.calls):
        events = tuple(
            event.model_copy(update={"text": event.text.replace(SALT, f"{salt}.{number}")})
            if isinstance(event, TextEvent)
            else event
            for event in call.events
        )
        calls.append(call.model_copy(update={"events": events}))
    return script.model_copy(update={"calls": tuple(calls)})
