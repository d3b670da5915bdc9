"""The processes under test: app/'s own composition, with points around what has effects and with scripted assistants.

Each model call says something that no other call says, so that text of two attempts can never be taken for one another.
"""

import asyncio
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
from assistants.definition import Assistant, Limits
from assistants.outbox import Note, Outbox
from checkpoints.outbox import Outbox as KeptAnswers
from checkpoints.port import Grip, Order, RunStore
from protocol.errors import ErrorKind
from protocol.json import JsonObject
from protocol.turn import SliceResult, TurnRequest
from providers.choose import SCRIPTED
from providers.script import Script, ScriptEvent, TextEvent
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
FALLBACKS: Final = {"fallback": "other"}  # who goes on where the model of a turn fails for good
TRIES: Final = 2  # of a model that has a fallback; the others fail at once


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
        first, *others = (
            Chosen(ScriptedProvider(_salted(self.scripts[name.removeprefix(SCRIPTED)], secrets.token_hex(4))), name)
            for name in (assistant.model, *(assistant.fallbacks or ()))
        )
        return replace(first, fallbacks=tuple(others))


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
        async def pause(seconds: float) -> None:
            await self._points.passes(run_id, "again.waiting")
            await asyncio.sleep(seconds)

        return Runner(replace(self._parts, fault=self._points.of(run_id), pause=pause))


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
    other = FALLBACKS.get(name)
    return Assistant(
        name=name,
        title=name,
        instructions="Play.",
        model=f"{SCRIPTED}{name}",
        fallbacks=(f"{SCRIPTED}{other}",) if other else (),
        limits=Limits(tries=TRIES if other else 1),
        tools=tools,
    )


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
    calls = tuple(
        call.model_copy(
            update={
                "events": tuple(_said_once(event, f"{salt}.{number}") for event in call.events),
                "again": tuple(_said_once(event, f"{salt}.{number}.again") for event in call.again),
            }
        )
        for number, call in enumerate(script.calls)
    )
    return script.model_copy(update={"calls": calls})


def _said_once(event: ScriptEvent, salt: str) -> ScriptEvent:
    return event.model_copy(update={"text": event.text.replace(SALT, salt)}) if isinstance(event, TextEvent) else event
