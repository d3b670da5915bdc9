"""How conversations go, over every database."""

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection, func, select

from records import erasure
from records.erasure import ERASED_AT_ONCE
from records.records import Records
from records.schema import conversations, messages
from records.values import Deleted, Key
from tests.contract.records.values import ANA, BEN, completed, turn

OTHER = replace(ANA, conversation_id="c2")


async def test_a_deleted_conversation_is_there_for_nobody(records: Records) -> None:
    """REQ-O8, LAW-P5: not a second time, either; nor is any of its runs."""
    await records.begin(turn("r1"))
    await records.settle("r1", completed("r1"))
    await records.begin(turn("r2"))
    assert await records.shown_run("r1") is not None

    assert await records.delete(BEN, 3_000) is None
    assert await records.delete(ANA, 3_000) == Deleted(key=ANA, active_run_id="r2", deleted_ms=3_000)

    assert await records.delete(ANA, 3_001) is None
    assert await records.conversations("", "ana") == ()
    assert await records.active_run(ANA) is None
    assert await records.shown_run("r1") is None
    assert await records.shown_run("r2") is None
    assert await records.run("r2") is not None  # the proof that its id was used


async def test_what_is_left_to_do_is_found_by_whoever_comes(records: Records) -> None:
    """A process may die after the deletion: logs and runs are seen to at once, the rest is erased when it is due."""
    for number, key in enumerate((ANA, OTHER, replace(ANA, conversation_id="c3")), 1):
        await records.begin(turn(f"r{number}", key))
    await records.delete(ANA, 2_000)
    await records.delete(OTHER, 3_000)
    await records.settle("r2", completed("r2"))
    await records.forgotten(OTHER, 3_000)

    assert await records.deleted(1_999, 9) == (Deleted(key=ANA, active_run_id="r1", deleted_ms=2_000),)
    await records.settle("r1", completed("r1"))
    await records.forgotten(ANA, 2_001)
    await records.forgotten(replace(ANA, conversation_id="c3"), 2_001)  # it is not deleted
    assert await records.deleted(1_999, 9) == ()
    both = tuple(
        Deleted(key=key, active_run_id=None, deleted_ms=deleted_ms, forgotten=True)
        for key, deleted_ms in ((ANA, 2_000), (OTHER, 3_000))
    )
    assert await records.deleted(3_000, 9) == both
    assert await records.deleted(3_000, 1) == both[:1]
    await records.erase(ANA, 4_000)
    assert await records.deleted(3_000, 9) == both[1:]


async def test_nothing_is_left_of_an_erased_conversation_but_its_row(records: Records) -> None:
    """REQ-O8, C5."""
    await records.create(ANA, "A secret", 500)
    await records.begin(turn("r1"))
    await records.settle("r1", completed("r1"))
    await records.delete(ANA, 2_000)

    await records.erase(ANA, 3_000)

    def left(connection: Connection) -> tuple[object, ...]:
        row = connection.execute(select(conversations)).mappings().one()
        said = connection.execute(select(func.count()).select_from(messages)).scalar_one()
        return row["id"], row["title"], row["erased_ms"], said

    assert await records._database.read(left) == ("c1", "", 3_000, 0)


async def test_only_what_was_deleted_is_erased(records: Records) -> None:
    await records.begin(turn("r1"))

    await records.erase(ANA, 3_000)

    assert len(await records.history("", "c1", 9, None)) == 1


async def test_erasing_goes_on_where_it_was_broken_off(address: str, opened: Callable[[], Records]) -> None:
    """In steps of so many messages, each a transaction of its own."""
    records = opened()
    await records.begin(turn("r1"))
    await records.settle("r1", completed("r1"))

    def fill(connection: Connection) -> None:
        row = dict(connection.execute(select(messages).limit(1)).mappings().one())
        rows = [row | {"sequence": sequence} for sequence in range(10, 10 + ERASED_AT_ONCE)]
        connection.execute(messages.insert(), rows)

    await records._database.write(fill)
    await records.delete(ANA, 2_000)
    first = await records._database.write(lambda connection: erasure.erase_some(connection, ANA, 3_000))
    assert not first
    assert len(await opened().deleted(9_000, 9)) == 1

    await opened().erase(ANA, 4_000)

    assert await records.deleted(9_000, 9) == ()


async def test_an_owner_is_deleted_whole(records: Records) -> None:
    """In steps, and nobody else with him."""
    for number in range(5):
        await records.create(Key(owner="ana", conversation_id=f"c{number}"), "", number)
    await records.create(Key(owner="ben", conversation_id="his"), "", 9)

    counts = []
    while gone := await records.delete_all("", "ana", 1_000, 2):
        counts.append(len(gone))

    assert counts == [2, 2, 1]
    assert await records.conversations("", "ana") == ()
    assert len(await records.conversations("", "ben")) == 1


async def test_runs_whose_logs_may_be_kept_are_known(records: Records) -> None:
    for number in (1, 2):
        await records.begin(turn(f"r{number}"))
        await records.settle(f"r{number}", completed(f"r{number}", now_ms=1_000 * number))
    await records.begin(turn("r3"))
    await records.delete(ANA, 9_000)

    assert sorted(await records.runs_with_logs(ANA, 2_000)) == ["r2", "r3"]
    assert await records.runs_with_logs(BEN, 0) == ()
