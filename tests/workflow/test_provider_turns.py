"""Misbehaviours of a provider through a real Temporal: the same frames, history and ledger as in one invocation (LAW-P4)."""

import pytest
from temporalio.client import Client

from protocol.turn import ChatTurnInput
from tests.provider_bench import NO_SCRIPT, bench, came_of, hurried
from tests.provider_cases import cases
from tests.workflow.durable import start, working

pytestmark = [pytest.mark.long, pytest.mark.timeout(120)]

NAMES = (
    "ends in mid-text",
    "is cut inside an event",
    "breaks in the step after a tool",
    "is overloaded inside the stream",
    "sends pings for ever after some text",
    "reaches the limit in a tool after a thought",
    "asks for three tools of which one fails",
    "thinks, hides a thought, speaks and asks for a tool",
    "declines in mid-answer",
    "pauses inside a search",
    "breaks off after a pause inside a search",
    "counts each of two calls once",
)


@pytest.mark.parametrize("slice_ms", [180_000, 0], ids=["in one slice", "sliced at every boundary"])
@pytest.mark.parametrize("name", NAMES)
async def test_a_misbehaviour_ends_durably_as_it_does_inline(
    client: Client, run_id: str, name: str, slice_ms: int
) -> None:
    """LAW-P1 LAW-P4 [L10] FR19 FR20 FR52 FR54"""
    case = cases()[name]
    async with bench() as made:
        made.set_up(case)
        async with hurried(made.upstream), made.rig(case) as rig:
            await rig.begin("Go.", run_id=run_id)
            async with working(client, run_id, rig, rig.runner(NO_SCRIPT)):
                await (await start(client, ChatTurnInput(run_id=run_id, slice_ms=slice_ms))).result()
            came = await came_of(made, case, rig, run_id)
    assert came.written() == case["came"]
