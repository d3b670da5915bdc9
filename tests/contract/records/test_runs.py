"""What the run rows tell executors and the sweeper."""

from dataclasses import replace

from records.records import Records
from records.values import Key, RunFilter
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
    await records.finished(["r2"], 2_500)

    assert [run.run_id for run in await records.unfinished(9_000, 10)] == ["r3", "r1", "r4"]
    assert [run.run_id for run in await records.unfinished(9_000, 1)] == ["r3"]
    assert [run.run_id for run in await records.unfinished(3_500, 10)] == ["r3"]


async def test_unfinished_runs_come_in_pages(records: Records) -> None:
    """C11: also those that began in the same millisecond, and whatever ends between two pages."""
    for number in range(5):
        await records.begin(turn(f"r{number}", Key(owner="ana", conversation_id=f"c{number}"), now_ms=1_000))
    first = await records.unfinished(9_000, 2)
    await records.settle("r2", completed("r2"))
    await records.finished(["r2"], 2_500)
    rest = await records.unfinished(9_000, 9, first[-1])

    assert [run.run_id for run in (*first, *rest)] == ["r0", "r1", "r3", "r4"]


async def test_operators_list_runs_by_state_and_owner(records: Records) -> None:
    """The newest first, page by page; another tenant's never."""
    for number, owner in enumerate(("ana", "ben", "ana", "ana")):
        key = Key(owner=owner, conversation_id=f"c{number}")
        await records.begin(turn(f"r{number}", key, now_ms=1_000 + number // 2))
    await records.begin(turn("other", Key(owner="ana", conversation_id="c", tenant="t")))
    await records.settle("r0", completed("r0"))

    async def names(limit: int = 9, past: tuple[int, str] | None = None, **wanted: str) -> list[str]:
        filtered = RunFilter(**wanted)  # type: ignore[arg-type] # a test spells states as it likes
        return [run.run_id for run in await records.runs(filtered, past, limit)]

    assert await names() == ["r3", "r2", "r1", "r0"]
    assert [await names(2), await names(2, (1_001, "r2"))] == [["r3", "r2"], ["r1", "r0"]]
    assert await names(state="unfinished", owner="ana") == ["r3", "r2"]
    assert [await names(state="completed"), await names(state="running")] == [["r0"], []]
    assert await names(tenant="t") == ["other"]


async def test_a_run_is_unfinished_until_somebody_saw_the_end_of_its_log(records: Records) -> None:
    """LAW-P1 C11: it has ended with its answer stored; the terminal frame is written after that."""
    for number, run_id in enumerate(("r1", "r2", "r3"), start=1):
        await records.begin(turn(run_id, Key(owner="ana", conversation_id=f"c{number}"), now_ms=number * 1_000))
    for run_id in ("r1", "r2"):
        await records.settle(run_id, completed(run_id))
    await records.finished(["r2", "r3"], 8_000)

    found = await records.unfinished(9_000, 10)

    assert [(run.run_id, run.ended_ms is None) for run in found] == [("r1", False), ("r3", True)]
    assert [run.run_id for run in await records.runs(RunFilter(state="unfinished"), None, 9)] == ["r3"]
