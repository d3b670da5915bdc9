"""Stops, decisions, steering and the clock at every moment of a turn that waits: before each thing its executors ask of the store.

What was answered as recorded has its effect, or the answer had said that the run was over; the run ends once either way.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import pytest

from checkpoints.memory import MemoryRunStore
from checkpoints.port import Order, Refusal
from protocol.turn import SliceResult, TurnInput
from providers.script import parse_script
from records.records import Records
from runner.port import Job
from tests.golden.test_waiting import TURNS, WEEK_MS
from tests.rig import RUN_ID, Rig, StillClock
from tests.unit.test_recovery import check
from tests.waiting import say, waiting_tools

# One model call more, for whoever steers when the answer is complete.
MORE = {"events": [{"type": "text", "text": "As you wish."}, {"type": "stop"}]}
SCRIPT = parse_script((TURNS / "beside_others.jsonl").read_text() + json.dumps(MORE))
SAID: list[list[dict[str, Any]]] = json.loads((TURNS / "beside_others.inputs.json").read_text())["parked"]
ASKED = frozenset({"claim", "load", "inputs", "append", "park", "release", "seal", "finish"})


class Watched(MemoryRunStore):
    """Lets something happen before the n-th call of an executor."""

    def __init__(self, clock: StillClock) -> None:
        super().__init__(clock)
        self.calls = 0
        self.at = -1
        self.happen: Callable[[], Awaitable[None]] | None = None

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in ASKED:
            return found

        async def call(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == self.at and self.happen is not None:
                await self.happen()
            return await found(*arguments, **named)

        return call


class Scene:
    """A turn in slices as short as they can be, with a person who decides, and somebody who interferes."""

    def __init__(self, records: Records) -> None:
        self.clock = StillClock()
        self.store = Watched(self.clock)
        self.rig = Rig(records=records, clock=self.clock, store=self.store)
        self.rig.more_tools = waiting_tools(self.rig.outside)
        self.rig.with_limits(run_seconds=10 * WEEK_MS)  # the clock that jumps is both clocks
        self.recorded = False

    async def play(self) -> SliceResult:
        await self.rig.begin(SCRIPT.input)
        batches = iter(SAID)
        for number in count(1):
            job = Job(run_id=RUN_ID, order=Order(1, number, 1), mode="workflow", slice_ms=0)
            result = await self.rig.runner(SCRIPT).run(job, asyncio.Event())
            if result.outcome == "ended":
                return result
            if result.outcome == "parked" and (batch := next(batches, None)) is not None:
                await say(self.rig, *batch)
        raise AssertionError

    async def stop(self) -> None:
        view = await self.store.stop(RUN_ID)
        self.recorded = view is not None and view.state not in ("sealed", "ended")

    async def put(self, **item: Any) -> None:
        said = TurnInput.model_validate(item)
        reply = await self.store.put_input(RUN_ID, said.id, said.model_dump_json().encode())
        self.recorded = not isinstance(reply, Refusal)

    async def steer(self) -> None:
        await self.put(id="s1", type="steer", text="Quick!")

    async def deny(self) -> None:
        await self.put(id="decision:c1.2", type="deny", target="c1.2")

    async def wait_long(self) -> None:
        self.clock.now += WEEK_MS + 1


async def calls_of_a_turn() -> int:
    async with await Records.in_memory() as records:
        scene = Scene(records)
        await scene.play()
        return scene.store.calls


async def interfered(records: Records, what: str, at: int) -> tuple[Scene, SliceResult, list[dict[str, Any]]]:
    """The turn with this happening before its n-th call, seen to have ended as all turns do."""
    scene = Scene(records)
    scene.store.at, scene.store.happen = at, getattr(scene, what)
    result = await scene.play()
    frames = [dict(frame) for frame in await check(scene.rig, records)]
    return scene, result, frames


@pytest.mark.long
@pytest.mark.timeout(120)
@pytest.mark.parametrize("what", ["stop", "steer", "deny", "wait_long"])
async def test_whatever_happens_between_any_two_writes_the_turn_ends_as_it_was_told(what: str) -> None:
    """FR14 FR22 FR28 LAW-P1 LAW-P2 LAW-P3 [W1] [W2] [W5] [W7] [W8] C12"""
    endings = set[str]()
    for at in range(1, await calls_of_a_turn() + 1):
        async with await Records.in_memory() as records:
            scene, result, frames = await interfered(records, what, at)
        endings.add(result.status)
        kinds = [frame["type"] for frame in frames]
        approved = [frame["approved"] for frame in frames if frame["type"] == "tool-approval-response"]
        assert len(approved) <= 1
        assert len(scene.rig.outside.effects) <= approved.count(True)
        if what == "stop":
            assert result.status == ("stopped" if scene.recorded else "completed"), at
        if what == "steer":
            assert (result.status, "steering-message" in kinds) == ("completed", scene.recorded), at
        if what == "deny":
            assert (result.status, approved) == ("completed", [scene.rig.outside.effects != []]), at
        if what == "wait_long":
            run = [frame["data"]["kind"] for frame in frames if frame["type"] == "data-error"]
            assert run == ([] if result.status == "completed" else ["unanswered"]), at

    assert endings == {"stop": {"stopped", "completed"}, "wait_long": {"failed", "completed"}}.get(what, {"completed"})
