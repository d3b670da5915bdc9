"""Stops and answers at every moment of a run that continues as new after every slice, on a real server (FR22)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import NAMESPACE_OID, uuid5

import pytest
from temporalio.client import Client

from checkpoints.port import Order
from protocol.turn import ChatTurnInput
from records.records import Records
from runner.port import Job
from tests.rig import Rig, StillClock
from tests.unit.test_waiting_races import SCRIPT, Watched
from tests.waiting import say, waiting_tools
from tests.workflow.durable import start, working
from workflows.chat_turn import ChatTurn

DECIDED = ({"type": "approve", "target": "c1.2"}, {"type": "answer", "target": "c1.0", "value": "three"})


@asynccontextmanager
async def begun(run_id: str) -> AsyncIterator[tuple[Rig, Watched]]:
    async with await Records.in_memory() as records:
        clock = StillClock()
        store = Watched(clock)
        rig = Rig(records=records, clock=clock, store=store)
        rig.more_tools = waiting_tools(rig.outside)
        await rig.begin(SCRIPT.input, run_id=run_id)
        yield rig, store


async def calls(run_id: str, *, decided: bool) -> int:
    """How often an executor asks the store for something: to the end, or until it parks."""
    async with begun(run_id) as (rig, store):
        if decided:
            await say(rig, *DECIDED, run_id=run_id)
        outcome, number = "", 0
        while outcome not in ("ended", "parked"):
            number += 1
            job = Job(run_id=run_id, order=Order(1, number, 1), mode="workflow", slice_ms=0)
            outcome = (await rig.runner(SCRIPT).run(job, asyncio.Event())).outcome
        return store.calls


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_a_stop_has_its_effect_wherever_the_workflow_is(client: Client, run_id: str) -> None:
    """FR22 FR28 C12 LAW-P1: around slices, continue-as-new and completion; or it is answered that the run was over."""
    for at in range(1, await calls(run_id, decided=True) + 1):
        one = str(uuid5(NAMESPACE_OID, f"{run_id} {at}"))
        async with begun(one) as (rig, store):
            recorded: list[bool] = []

            async def stop(store: Watched = store, one: str = one, recorded: list[bool] = recorded) -> None:
                view = await store.stop(one)
                recorded.append(view is not None and view.state not in ("sealed", "ended"))
                await client.get_workflow_handle(one).signal(ChatTurn.stop)

            await say(rig, *DECIDED, run_id=one)
            store.at, store.happen = at, stop
            handle = await start(client, ChatTurnInput(run_id=one, slice_ms=0, max_slices=1))
            async with working(client, one, rig, rig.runner(SCRIPT)):
                result = await handle.result()
            kinds = [frame["type"] for frame in await rig.frames(one)]

        assert (result.status, kinds.count("finish")) == ("stopped" if recorded == [True] else "completed", 1), at


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_an_answer_is_heard_wherever_the_workflow_is(client: Client, run_id: str) -> None:
    """FR22 C12: before the run parks, and while it does: nothing waits out its week."""
    for at in range(1, await calls(run_id, decided=False) + 1):
        one = str(uuid5(NAMESPACE_OID, f"{run_id} {at}"))
        async with begun(one) as (rig, store):

            async def answer(rig: Rig = rig, store: Watched = store, one: str = one) -> None:
                if "tool-approval-request" not in [frame["type"] for frame in await rig.frames(one)]:
                    store.at = store.calls + 1  # nobody can answer what is not in the log yet
                    return
                await say(rig, *DECIDED, run_id=one)
                await client.get_workflow_handle(one).signal(ChatTurn.input)

            store.at, store.happen = at, answer
            handle = await start(client, ChatTurnInput(run_id=one, slice_ms=0, max_slices=1))
            async with working(client, one, rig, rig.runner(SCRIPT)):
                result = await handle.result()

        assert (result.status, len(rig.outside.effects)) == ("completed", 1), at
