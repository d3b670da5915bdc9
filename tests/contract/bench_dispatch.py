"""A dispatch for the HTTP tests: every turn runs in the test's own process."""

import asyncio
from typing import Any

from checkpoints.port import Order
from dispatch.switch import from_json
from protocol.json import JsonObject
from protocol.turn import Transport, TurnRequest
from providers.script import Script
from runner.port import Job
from tests.rig import Rig


class BenchDispatch:
    """Keeps `api.ports.Dispatch`: runs every turn here, as whichever transport the test says."""

    def __init__(self, rig: Rig, memory: Rig, script: Script) -> None:
        self.transport: Transport = "workflow"
        self.script = script
        self.fault: Exception | None = None  # what the next start dies of
        self.requests: list[TurnRequest] = []
        self.nudged: list[str] = []
        self.deaf = False  # to wake-ups
        self.switch: JsonObject = {"switch": "on"}
        self._rig = rig
        self._memory = memory
        self._tasks: list[asyncio.Task[Any]] = []

    async def start(self, request: TurnRequest) -> Transport:
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault
        self.requests.append(request)
        self._run(self._rig, request, self.transport)
        return self.transport

    async def start_memory(self, request: TurnRequest) -> None:
        self.requests.append(request)
        self._run(self._memory, request, "inline")

    @property
    def started(self) -> list[str]:
        return [request.run_id for request in self.requests]

    def _run(self, rig: Rig, request: TurnRequest, mode: Transport) -> None:
        job = Job(run_id=request.run_id, order=Order(1, 0, 1), mode=mode)
        self._tasks.append(asyncio.create_task(rig.runner(self.script).run(job, asyncio.Event())))

    async def nudge(self, run_id: str) -> None:
        self.nudged.append(run_id)

    async def wake(self, run_id: str, *, memory: bool = False) -> None:
        """Go on with a parked run, as if hours had passed."""
        rig = self._memory if memory else self._rig
        view = await rig.store.view(run_id)
        if view is not None and view.state == "parked" and not self.deaf:
            request = next(request for request in self.requests if request.run_id == run_id)
            self._run(rig, request, self.transport)

    async def status(self) -> JsonObject:
        return self.switch

    async def set_switch(self, value: JsonObject) -> JsonObject:
        from_json(value.get("switch"))
        self.switch = value
        return value

    async def settled(self) -> None:
        """Every turn that was started has ended."""
        await asyncio.gather(*self._tasks)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
