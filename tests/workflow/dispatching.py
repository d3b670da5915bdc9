"""A dispatcher on the bench."""

import asyncio

from checkpoints.memory import MemoryRunStore
from dispatch.caretaker import CareParts
from dispatch.decide import Decision
from dispatch.dispatcher import Dispatcher, DispatchParts
from dispatch.switch import ON
from dispatch.temporal import Workflows
from dispatch.watch import MemorySwitch, SwitchWatch
from protocol.log import Pushed
from providers.script import Script
from tests.rig import Rig
from tests.workflow.durable import script_of
from workflows.connection import connect

SCRIPT = script_of(2)


class Bench:
    """A dispatcher over a rig, and what it decided."""

    def __init__(
        self,
        rig: Rig,
        workflows: Workflows,
        *,
        switch: str = "on",
        run_ms: int = 86_400_000,
        script: Script = SCRIPT,
    ) -> None:
        self.decisions: list[Decision] = []
        self.stored = MemorySwitch(switch)
        self.changed = asyncio.Event()
        self.watch = SwitchWatch(self.stored, default=ON, on_change=lambda _: self.changed.set())
        self.dispatcher = Dispatcher(
            DispatchParts(
                care=CareParts(
                    store=rig.store,
                    outbox=rig.outbox,
                    records=rig.records,
                    workflows=workflows,
                    switch=self.watch,
                    clock=rig.clock,
                    run_ms=lambda _: run_ms,
                ),
                runner=rig.runner(script),
                memory_runner=rig.runner(script),
                on_decision=self.decisions.append,
            )
        )


def nowhere() -> Workflows:
    """No server at all."""
    return Workflows(lambda: connect("127.0.0.1:1"), task_queue="nowhere")


async def end_of(rig: Rig, run_id: str) -> asyncio.Event:
    """Set when the run's log has ended."""
    assert isinstance(rig.store, MemoryRunStore)
    ended = asyncio.Event()

    def listen(pushed: Pushed) -> None:
        if pushed.ended:
            ended.set()

    await rig.store.subscribe(run_id, listen)
    return ended
