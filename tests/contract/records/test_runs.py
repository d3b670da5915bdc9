"""What the run rows tell executors and the sweeper."""

from dataclasses import replace

from records.records import Records
from records.values import Key
from tests.contract.records.values import ANA, BEN, completed, delete, run_of, turn


async def test_a_run_names_who_executes_it(records: Records) -> None:
    await records.begin(turn("r1"))

    assert await records.running("r1", "workflow", 1_500)
    assert await records.running("r1", "inline", 1_600)  # C22: an adopter

    running = replace(run_of(turn("r1"), 1), status="running", transport="inline", updated_ms=1_600)
    assert await records.run("r1") == await records.active_run(ANA) == running


async def test_an_ended_run_is_not_started_again(records: Records) -> None:
    """C5: a late duplicate, with the run's keys gone, asks here."""
    await records.begin(turn("r1"))
    await records.settle("r1", completed("r1"))
    ended = await records.run("r1")

    assert not await records.running("r1", "workflow", 9_000)
    assert not await records.mark_memory("r1")
    assert await records.run("r1") == ended


async def test_an_unknown_run_is_not_started(records: Records) -> None:
    assert not await records.running("r1", "workflow", 9_000)
    assert not await records.mark_memory("r1")
    assert await records.run("r1") is None


async def test_a_memory_run_says_so(records: Records) -> None:
    """C6: a workflow that was accepted after all finds this and leaves the run alone."""
    await records.begin(turn("r1"))

    assert await records.mark_memory("r1")

    assert await records.run("r1") == replace(run_of(turn("r1"), 1), memory=True)


async def test_the_active_run_is_shown_to_its_owner_alone(records: Records) -> None:
    """LAW-P5."""
    await records.begin(turn("r1"))

    assert await records.active_run(BEN) is None
    assert await records.active_run(replace(ANA, tenant="other")) is None
    await delete(records, ANA)
    assert await records.active_run(ANA) is None


async def test_unfinished_runs_are_found_oldest_first(records: Records) -> None:
    """C11: accepted and running ones alike; a crash between row and dispatch leaves only the row."""
    for number, run_id in enumerate(("r1", "r2", "r3", "r4"), start=1):
        await records.begin(turn(run_id, Key(owner="ana", conversation_id=f"c{number}"), now_ms=number * 1_000))
    await records.running("r1", "workflow", 3_500)
    await records.settle("r2", completed("r2"))

    assert [run.run_id for run in await records.unfinished(9_000, 10)] == ["r3", "r1", "r4"]
    assert [run.run_id for run in await records.unfinished(9_000, 1)] == ["r3"]
    assert [run.run_id for run in await records.unfinished(3_500, 10)] == ["r3"]
