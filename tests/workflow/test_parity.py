"""Every golden turn through the whole durable path: a real Temporal server, a worker, a real Valkey. Byte for byte."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from checkpoints.memory import MemoryRunStore
from checkpoints.port import RunStore
from protocol.turn import ChatTurnInput
from providers.script import parse_script
from records.records import Records
from resp.keys import Keys
from tests.golden import test_failing
from tests.golden.frames import expected, written
from tests.golden.test_turns import NAMES, TURNS
from tests.rig import RUN_ID, Rig, StillClock
from tests.servers import Server
from tests.stores import world_at
from tests.workflow.durable import start, working

SLICES = {"in one slice": 180_000, "sliced at every boundary": 0}


async def play(client: Client, run_id: str, name: str, store: RunStore, slice_ms: int) -> list[str]:
    async with await Records.in_memory() as records:
        rig = Rig(records=records, store=store)
        gaps = 0

        async def pace(_: float) -> None:
            nonlocal gaps
            gaps += 1
            if name.startswith("stop") and gaps == 3:
                await store.stop(run_id)

        rig.pace = pace
        script = parse_script((TURNS / f"{name}.jsonl").read_text())
        await rig.begin(script.input, run_id=run_id)
        async with working(client, run_id, rig, rig.runner(script)):
            await (await start(client, ChatTurnInput(run_id=run_id, slice_ms=slice_ms))).result()
        return written(await rig.frames(run_id))


def as_golden(lines: list[str], run_id: str) -> list[str]:
    """The frames as the golden's run id would have given them: nothing else in them depends on the run."""
    plain, golden = run_id.replace("-", ""), RUN_ID.replace("-", "")
    return [line.replace(run_id, RUN_ID).replace(plain, golden) for line in lines]


@pytest.fixture
async def store(valkey: Server, keys: Keys) -> AsyncIterator[RunStore]:
    async with world_at(valkey.address, keys) as world:
        yield world.store


@pytest.mark.parametrize("slice_ms", SLICES.values(), ids=SLICES.keys())
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("stop")])
async def test_a_durable_turn_gives_the_golden_frames(
    client: Client, run_id: str, store: RunStore, name: str, slice_ms: int
) -> None:
    """LAW-P4 C21 REQ-B6 REQ-Y3 [L10]"""
    lines = await play(client, run_id, name, store, slice_ms)

    assert as_golden(lines, run_id) == expected(TURNS, name)


@pytest.mark.parametrize("name", test_failing.NAMES)
async def test_a_durable_turn_whose_model_fails_gives_the_golden_frames(
    client: Client, run_id: str, store: RunStore, name: str
) -> None:
    """LAW-P4 C21 REQ-G2 [L10] [L11]"""
    async with await Records.in_memory() as records:
        rig = Rig(records=records, store=store)
        script = test_failing.prepare(rig, name)
        await rig.begin(script.input, run_id=run_id)
        async with working(client, run_id, rig, rig.runner(script)):
            await (await start(client, ChatTurnInput(run_id=run_id, slice_ms=0))).result()
        lines = written(await rig.frames(run_id))

    assert as_golden(lines, run_id) == expected(test_failing.TURNS, name)


async def test_a_durable_turn_stopped_in_its_text_gives_the_golden_frames(client: Client, run_id: str) -> None:
    """Where a stop falls among frames on their way depends on the store; in memory it is the same every time."""
    lines = await play(client, run_id, "stop_in_text", MemoryRunStore(StillClock()), 180_000)

    assert as_golden(lines, run_id) == expected(TURNS, "stop_in_text")
