"""What the operators' commands are tried on: a run that has ended, and one of another conversation that has not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from checkpoints.memory import MemoryRunStore
from checkpoints.port import Order
from records.records import Records
from runner.port import Job
from tests.rig import Rig, StillClock
from tests.workflow.durable import script_of

SCRIPT = script_of(2)


@asynccontextmanager
async def two_runs() -> AsyncIterator[Rig]:
    """The second one begins a millisecond later and waits at its second step."""
    async with await Records.in_memory() as records:
        clock = StillClock()
        rig = Rig(records=records, clock=clock, store=MemoryRunStore(clock))
        await rig.begin(SCRIPT.input)
        await rig.run(SCRIPT)
        clock.now += 1
        await rig.begin(SCRIPT.input, run_id="second", conversation_id="other")
        job = Job(run_id="second", order=Order(1, 1, 1), mode="workflow", slice_ms=0)
        await rig.runner(SCRIPT).run(job, asyncio.Event())
        yield rig
