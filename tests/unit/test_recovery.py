"""Every place where an executor can be cut off, and what the next attempt makes of it (C1, C2, C3).

The store lets the n-th write happen, or not, and then answers nothing more to that executor: what a process killed there
leaves behind. Real processes are killed elsewhere; here every point is reached.
"""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from checkpoints.memory import MemoryRunStore
from checkpoints.port import Append, Grip, Order
from engine.fold import fold
from engine.settle import NOT_RUN
from protocol.checkpoint import Message
from protocol.errors import LostClaim
from protocol.frames import Frame
from protocol.turn import SliceResult
from providers.script import Script, parse_script
from records.records import Records
from records.values import Begun, Key, Span, TurnBegin
from runner.parts import no_fault
from runner.port import Job
from tests.rig import RUN_ID, Rig, StillClock

TURNS = Path(__file__).parent.parent / "golden" / "turns"
NAMES = ("plain_text", "chunk_joins", "tool_round_trip", "parallel_tools", "thinking", "model_error", "max_tokens")


class CutOff(MemoryRunStore):
    """Lets `allowed` writes through; then, before or after the next one, the executor is gone."""

    def __init__(self, clock: StillClock) -> None:
        super().__init__(clock)
        self.allowed = 10_000
        self.write_first = False
        self.writes = 0

    async def _cut(self, write: Any) -> Any:
        if self.writes >= self.allowed:
            if self.writes == self.allowed and self.write_first:
                await write()
            self.writes += 1
            raise LostClaim
        self.writes += 1
        return await write()

    async def append(self, grip: Grip, append: Append) -> Any:
        return await self._cut(lambda: MemoryRunStore.append(self, grip, append))

    async def seal(self, grip: Grip, append: Append, seal: bytes, **seen: Any) -> Any:
        return await self._cut(lambda: MemoryRunStore.seal(self, grip, append, seal, **seen))

    async def finish(self, grip: Grip, append: Append, status: str, retention_ms: int) -> Any:
        return await self._cut(lambda: MemoryRunStore.finish(self, grip, append, status, retention_ms))


async def one_attempt(rig: Rig, script: Script, number: int) -> SliceResult:
    job = Job(run_id=RUN_ID, order=Order(1, 1, number), mode="workflow")
    return await rig.runner(script).run(job, asyncio.Event())


async def writes_of(name: str) -> int:
    async with await Records.in_memory() as records:
        clock = StillClock()
        store = CutOff(clock)
        rig = Rig(records=records, clock=clock, store=store)
        script = parse_script((TURNS / f"{name}.jsonl").read_text())
        await rig.begin(script.input)
        await one_attempt(rig, script, 1)
        return store.writes


async def check(rig: Rig, records: Records) -> list[Frame]:
    """P1, P2, P3 and a free conversation, after the run has ended."""
    frames = await rig.frames()
    kinds = [frame["type"] for frame in frames]
    assert (kinds.count("finish"), kinds[-1]) == (1, "finish"), "LAW-P1"
    message = Message(id="")
    for frame in frames:
        message = fold(message, frame)
    stored = await records.messages(Key(owner="ada", conversation_id="talk"), Span())
    assert stored is not None
    assert [message.parts] == [one.parts for one in stored if one.role == "assistant"], "LAW-P2"
    assert all(count == 1 for count in Counter(rig.outside.effects).values()), "LAW-P3"
    begun = await records.begin(
        TurnBegin(
            key=Key(owner="ada", conversation_id="talk"),
            run_id="00000000-0000-4000-8000-000000000002",
            assistant="bench",
            user_message_id="u2",
            message_id="m2",
            parts=({"type": "text", "text": "next"},),
            now_ms=rig.clock.now_ms(),
        )
    )
    assert isinstance(begun, Begun), "the conversation accepts the next message"
    return frames


@pytest.mark.parametrize("write_first", [True, False], ids=["after the write", "before the write"])
@pytest.mark.parametrize("name", NAMES)
async def test_cut_off_at_any_write_the_next_attempt_ends_the_turn(name: str, write_first: bool) -> None:
    """REQ-Z11 REQ-C14 FR09 FR23: also between an effect and its record, and with the opening of an answer shown."""
    script = parse_script((TURNS / f"{name}.jsonl").read_text())
    for cut in range(await writes_of(name)):
        async with await Records.in_memory() as records:
            clock = StillClock()
            store = CutOff(clock)
            rig = Rig(records=records, clock=clock, store=store)
            await rig.begin(script.input)
            store.allowed, store.write_first = cut, write_first
            await one_attempt(rig, script, 1)
            store.allowed = 10_000
            clock.now += rig.settings.lease_ms + 1
            result = await one_attempt(rig, script, 2)
            assert result.outcome == "ended", cut
            await check(rig, records)


async def test_cut_off_twice_in_one_step_each_withdrawal_is_shown_once() -> None:
    """C2 [L8]: one reset-step for each attempt that left frames of an unfinished step, and no second start-step."""
    script = parse_script((TURNS / "chunk_joins.jsonl").read_text())
    async with await Records.in_memory() as records:
        clock = StillClock()
        store = CutOff(clock)
        rig = Rig(records=records, clock=clock, store=store)
        await rig.begin(script.input)
        for attempt in (1, 2):
            store.allowed, store.write_first = store.writes + (attempt == 1), True
            await one_attempt(rig, script, attempt)
            clock.now += rig.settings.lease_ms + 1
        store.allowed = 10_000
        await one_attempt(rig, script, 3)
        kinds = [frame["type"] for frame in await check(rig, records)]

    assert (kinds.count("start-step"), kinds.count("reset-step"), kinds.count("data-recovering")) == (1, 2, 2)


async def cut_off_when_asked(records: Records, script: Script) -> Rig:
    """A run whose executor died right after the intents of its tools were committed, its lease over."""
    clock = StillClock()
    rig = Rig(records=records, clock=clock, store=MemoryRunStore(clock))

    async def die_when_asked(point: str) -> None:
        if point == "boundary:asked":
            raise LostClaim

    rig.fault = die_when_asked
    await rig.begin(script.input)
    await one_attempt(rig, script, 1)
    rig.fault = no_fault
    clock.now += rig.settings.lease_ms + 1
    return rig


async def test_an_asked_step_is_neither_asked_again_nor_reset() -> None:
    """C1 [L9]: after the boundary only the missing outputs are appended, and a call that must not be repeated is not."""
    script = parse_script((TURNS / "parallel_tools.jsonl").read_text())
    async with await Records.in_memory() as records:
        rig = await cut_off_when_asked(records, script)
        await one_attempt(rig, script, 2)
        frames = await check(rig, records)

    kinds = [frame["type"] for frame in frames]
    assert ("reset-step" in kinds, kinds.count("tool-input-available")) == (False, 3)
    assert rig.outside.effects == []
    assert [frame for frame in frames if frame["type"] == "tool-output-error"] != []


async def test_what_a_dead_attempt_started_is_never_told_as_not_run() -> None:
    """LAW-P3: a stop that meets a resumed step repeats no call, and does not know what became of those under way."""
    script = parse_script((TURNS / "parallel_tools.jsonl").read_text())
    async with await Records.in_memory() as records:
        rig = await cut_off_when_asked(records, script)
        await rig.store.stop(RUN_ID)
        await one_attempt(rig, script, 2)
        frames = await check(rig, records)

    told: list[Any] = [frame for frame in frames if frame["type"] == "tool-output-error"]
    assert len(told) == 3
    assert NOT_RUN not in {frame["errorText"] for frame in told}
