"""What a frame costs inside our processes, in CPU time of one thread: engine, encoding, writer, checkpoint, hub.

Every measure has a base line that does the least possible, or the same thing at the beginning of a turn: what grows with the
length of an answer shows as a ratio.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from app.clock import SystemClock
from bench.report import Row, Section, compared
from bench.runs import claimed_runs
from checkpoints.budget import RESERVE_AHEAD
from checkpoints.memory import MemoryRunStore
from checkpoints.port import Append, Claimed, Grip, Loaded, Order, RunStore
from engine import calls, checkpoint, step, turn
from engine.values import Advance, Plan, Turn
from frames import sse
from frames.hub import Hub
from frames.viewer import Viewer
from protocol.checkpoint import ToolResult, TurnState
from protocol.frames import Frame
from protocol.json import JsonObject
from protocol.model import ModelEvent, Stopped, TextDelta, ToolInputDelta
from providers.stub import StubProvider
from records.records import Records
from runner.hold import Hold
from runner.kept import Kept
from runner.parts import Chosen, Parts
from runner.port import Job
from runner.writer import FrameWriter

WORDS: Final = " the next few words"
STEPS: Final = 50
LONG_TEXT: Final = 100_000  # characters
DELTA: Final[Frame] = {"type": "text-delta", "id": "t1", "delta": WORDS}
PLAN: Final = Plan(
    run_id="00000000-0000-4000-8000-000000000001",
    conversation_id="talk",
    message_id="msg_1",
    assistant="bench",
    model="scripted",
    steps=10 * STEPS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured."""

    rounds: int
    frames: int


@dataclass(slots=True)
class Rounds:
    """CPU microseconds of one thing in each round."""

    found: list[float] = field(default_factory=list)

    def run(self, times: int, work: Callable[[], object]) -> None:
        """Work that does the thing so many times."""
        begun = time.process_time()
        work()
        self.found.append((time.process_time() - begun) / times * 1e6)

    async def wait(self, times: int, work: Awaitable[None]) -> None:
        """The same for work that is awaited."""
        begun = time.process_time()
        await work
        self.found.append((time.process_time() - begun) / times * 1e6)


async def measure(durable: RunStore, effort: Effort) -> Section:
    """All of it. `durable` is the store that a boundary is committed to."""
    rows = [*_engine(effort), *_checkpoint(effort), *await _commit(durable, effort)]
    rows += [*await _writer(effort), *await _hub(effort)]
    return Section(title="Hot paths, in process", base="named in each row", rows=rows)


def _engine(effort: Effort) -> list[Row]:
    first = turn.begin(PLAN, _question()).turn
    long = step.model_event(first, TextDelta("x" * LONG_TEXT)).turn
    late = _states(STEPS)[-1]
    encode, begin, after_text, after_steps = Rounds(), Rounds(), Rounds(), Rounds()
    for _ in range(effort.rounds):
        encode.run(effort.frames, lambda: [sse.encode(index, DELTA) for index in range(effort.frames)])
        begin.run(effort.frames, lambda: _deltas(first, effort.frames))
        after_text.run(effort.frames, lambda: _deltas(long, effort.frames))
        after_steps.run(effort.frames, lambda: _deltas(Turn(plan=PLAN, state=late), effort.frames))
    return [
        compared("a delta: engine and encoding, on encoding alone", "µs", (begin.found, encode.found)),
        compared("… after 100 KB of text, on the beginning", "µs", (after_text.found, begin.found)),
        compared(f"… after {STEPS} steps, on the beginning", "µs", (after_steps.found, begin.found)),
    ]


def _checkpoint(effort: Effort) -> list[Row]:
    states = _states(STEPS)
    before, after, repeats = states[-2], states[-1], 20
    delta, whole = Rounds(), Rounds()
    for _ in range(effort.rounds):
        delta.run(repeats, lambda: [checkpoint.delta(before, after) for _ in range(repeats)])
        whole.run(repeats, lambda: [checkpoint.snapshot(after) for _ in range(repeats)])
    sizes = ([len(checkpoint.delta(before, after)) / 1_024], [len(checkpoint.snapshot(after)) / 1_024])
    return [
        compared(f"the checkpoint of step {STEPS}, on the whole state", "µs", (delta.found, whole.found)),
        compared("… its size", "KB", sizes),
    ]


async def _commit(store: RunStore, effort: Effort) -> list[Row]:
    """A boundary in the store, in wall time: it is waited for before the next step begins."""
    states, repeats = _states(STEPS), 50
    delta = checkpoint.delta(states[-2], states[-1])
    (grip,) = await claimed_runs(store, 1)
    taken: dict[bytes | None, list[float]] = {delta: [], None: []}
    index = 0
    for _ in range(effort.rounds):
        for part, rounds in taken.items():
            begun = time.perf_counter()
            for _ in range(repeats):
                await store.append(grip, Append(start=index, count=1, payload=sse.encode(index, DELTA), delta=part))
                index += 1
            rounds.append((time.perf_counter() - begun) / repeats * 1e6)
    return [compared("… committed with a frame, on the frame alone", "µs", (taken[delta], taken[None]))]


async def _writer(effort: Effort) -> list[Row]:
    alone, gathered, floor = Rounds(), Rounds(), Rounds()
    store = MemoryRunStore(SystemClock())
    async with await Records.in_memory() as records:
        parts = Parts(
            store=store,
            records=records,
            assistants={},
            choose=lambda _assistant, _request: Chosen(StubProvider(), ""),
            clock=SystemClock(),
            new_owner=str,
        )
        for _ in range(effort.rounds):
            grips = await claimed_runs(store, 3)
            await floor.wait(effort.frames, _append_each(store, grips[0], effort.frames))
            await alone.wait(effort.frames, _put(parts, grips[1], effort.frames, together=1))
            await gathered.wait(effort.frames, _put(parts, grips[2], effort.frames, together=100))
    return [
        compared("a frame through the writer, on encoding and append", "µs", (alone.found, floor.found)),
        compared("… gathered by a hundred", "µs", (gathered.found, floor.found)),
    ]


async def _hub(effort: Effort) -> list[Row]:
    wide, many, floor = Rounds(), Rounds(), Rounds()
    viewers = 1_000
    appends = max(1, effort.frames // viewers) * 5
    for _ in range(effort.rounds):
        store = MemoryRunStore(SystemClock())
        hub = Hub(store)
        one, several = await claimed_runs(store, 1), await claimed_runs(store, viewers)
        async with asyncio.TaskGroup() as readers:
            for grip in one * viewers + several:
                readers.create_task(_read(await hub.attach(grip.run_id, 0), appends))
            await _idle()  # until all of them wait
            await floor.wait(viewers * appends, _wake(viewers, appends))
            await wide.wait(viewers * appends, _feed(store, one, appends))
            await many.wait(viewers * appends, _feed(store, several, appends))
        await hub.close()
    return [
        compared("a delivery, one run to 1,000 viewers, on waking a task", "µs", (wide.found, floor.found)),
        compared("a delivery, 1,000 runs to one each, on waking a task", "µs", (many.found, floor.found)),
    ]


def _question() -> tuple[JsonObject, ...]:
    return ({"role": "user", "content": [{"type": "text", "text": "What is there to be said?"}]},)


def _states(steps: int) -> list[TurnState]:
    """The states at the boundaries of a turn that calls a tool in each step."""
    advance = turn.begin(PLAN, _question())
    states = []
    for number in range(steps):
        for event in _one_call(number):
            advance = step.model_event(advance.turn, event)
        states.append(advance.turn.state)
        text = _result(number)
        advance = calls.tool_finished(advance.turn, ToolResult(ordinal=0, text=text, output=text))
        states.append(advance.turn.state)
    return states


def _result(number: int) -> str:
    """A kilobyte that compresses no better than text does."""
    return " ".join(sha256(f"{number}.{word}".encode()).hexdigest()[:7] for word in range(128))


def _one_call(number: int) -> list[ModelEvent]:
    text, name = f"Step {number}." + WORDS * 20, f"call_{number}"
    block: JsonObject = {"type": "tool_use", "id": name, "name": "search", "input": {"query": name}}
    content: tuple[JsonObject, ...] = ({"type": "text", "text": text}, block)
    return [
        TextDelta(text),
        ToolInputDelta(name, "search", f'{{"query": "{name}"}}'),
        Stopped(reason="tool_use", content=content),
    ]


def _deltas(now: Turn, count: int) -> int:
    """The bytes that so many deltas give."""
    size = 0
    for index in range(count):
        advance: Advance = step.model_event(now, TextDelta(WORDS))
        now = advance.turn
        size += sum(len(sse.encode(index, frame)) for frame in advance.frames)
    return size


async def _append_each(store: MemoryRunStore, grip: Grip, count: int) -> None:
    for index in range(count):
        await store.append(grip, Append(start=index, count=1, payload=sse.encode(index, DELTA)))


async def _put(parts: Parts, grip: Grip, count: int, *, together: int) -> None:
    claimed = Claimed(grip=grip, next=0, stop=False, room=1 << 30, reserved=RESERVE_AHEAD)
    job = Job(run_id=grip.run_id, order=Order(1, 1, 1), mode="inline")
    kept = Kept(claimed, Loaded(request=b"", deltas=(), index=0, ledger={}), None)
    hold = Hold(parts, job, claimed, since_ms=parts.clock.monotonic_ms())
    writer = FrameWriter(parts, hold, kept, on_stop=_nothing, on_trouble=_nothing)
    for _ in range(count // together):
        for _ in range(together):
            writer.put((DELTA,))
        await writer.flush()


async def _feed(store: MemoryRunStore, grips: list[Grip], appends: int) -> None:
    for index in range(appends):
        payload = sse.encode(index, DELTA)
        for grip in grips:
            await store.append(grip, Append(start=index, count=1, payload=payload))
        await _idle()


async def _read(viewer: Viewer, frames: int) -> None:
    while viewer.index < frames:
        await viewer.next(60)
    viewer.close()


async def _wake(tasks: int, times: int) -> None:
    waiting: list[asyncio.Future[None]] = []
    loop = asyncio.get_running_loop()

    async def sleeper() -> None:
        for _ in range(times):
            future = loop.create_future()
            waiting.append(future)
            await future

    async with asyncio.TaskGroup() as group:
        for _ in range(tasks):
            group.create_task(sleeper())
        for _ in range(times):
            await _idle()
            woken, waiting = waiting, []
            for future in woken:
                future.set_result(None)


async def _idle() -> None:
    """Let everything go on that can."""
    for _ in range(3):
        await asyncio.sleep(0)


def _nothing() -> None:
    pass
