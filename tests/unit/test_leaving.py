"""An executor whose process goes away in the middle of a step."""

import asyncio
from dataclasses import dataclass, field

from checkpoints.memory import MemoryRunStore
from checkpoints.port import Grip, Order
from engine.turn import OUTCOME_UNKNOWN
from providers.script import parse_script
from records.records import Records
from runner.port import Job
from tests.rig import RUN_ID, Outside, Rig, StillClock
from tools.declare import Tool, tool

SCRIPT = parse_script(
    '{"v":1,"name":"one","input":"Do it."}\n'
    '{"events":[{"type":"tool_input","id":"a","name":"slow","delta":"{}"},{"type":"stop","reason":"tool_use"}]}\n'
    '{"events":[{"type":"text","text":"Done."},{"type":"stop"}]}\n'
)


class Noting(MemoryRunStore):
    """Notes when the lease was given up."""

    def __init__(self, clock: StillClock, notes: list[str]) -> None:
        super().__init__(clock)
        self._notes = notes

    async def release(self, grip: Grip, committed: bytes | None, order: Order) -> bool:
        self._notes.append("released")
        return await super().release(grip, committed, order)


@dataclass(slots=True)
class SlowOutside(Outside):
    """With a tool that is not done before it is told to stop."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def tools(self) -> tuple[Tool, ...]:
        @tool(repeat="never")
        async def slow() -> str:
            """Take for ever."""
            self.effects.append("called")
            self.begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                self.effects.append("let go")
            return "never"

        return (slow,)


async def test_a_tool_in_flight_lets_go_before_the_lease_does_and_its_outcome_is_unknown() -> None:
    """LAW-P3 C16: the next attempt does not call it again, and what was left in good order is no death."""
    async with await Records.in_memory() as records:
        outside, clock = SlowOutside(), StillClock()
        store = Noting(clock, outside.effects)
        rig = Rig(records=records, clock=clock, outside=outside, store=store)
        await rig.begin(SCRIPT.input)
        job = Job(run_id=RUN_ID, order=Order(1, 1, 1), mode="workflow")
        executor = asyncio.create_task(rig.runner(SCRIPT).run(job, asyncio.Event()))
        await outside.begun.wait()

        executor.cancel()
        await asyncio.wait([executor])

        view = await store.view(RUN_ID)
        assert view is not None
        assert (outside.effects, view.lease_ms, view.deaths) == (["called", "let go", "released"], 0, 0)
        await rig.run(SCRIPT, first=2)
        assert outside.effects == ["called", "let go", "released"]
        frames = [dict(frame) for frame in await rig.frames()]
        assert [frame["errorText"] for frame in frames if frame["type"] == "tool-output-error"] == [OUTCOME_UNKNOWN]
