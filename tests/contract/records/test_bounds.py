"""Every call ends: with its value, or typed, in the time it was given. Nothing is lost or half done by that."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import Executable, text, update
from sqlalchemy.exc import StatementError

from protocol.errors import TurnkeepError
from records import migrate
from records.database import Database
from records.postgresql import PostgreSQL
from records.records import Records
from records.schema import conversations
from records.sqlite import READERS, SQLite
from records.values import Begun, Key, Known, NotFound, Settlement, Span
from tests.contract.records.values import ANA, completed, run_of, turn


@asynccontextmanager
async def another_writer(address: str) -> AsyncIterator[Callable[[Executable], Awaitable[object]]]:
    """A transaction of somebody else, open as long as the block; executes statements."""
    driver = Database(address, timeout_ms=5_000)._driver
    if isinstance(driver, SQLite):
        with driver._writer._engine.begin() as connection:
            yield lambda statement: asyncio.to_thread(lambda: connection.execute(statement))
    else:
        assert isinstance(driver, PostgreSQL)
        async with driver._engine.begin() as asynchronous:
            yield asynchronous.execute
    await driver.close()


async def test_a_database_that_does_not_answer_in_time_is_unavailable(address: str) -> None:
    async with Records(address) as patient, Records(address, timeout_ms=100) as records:
        await patient.begin(turn("r1"))
        async with another_writer(address) as execute:
            if address.startswith("postgresql"):
                await execute(text("LOCK TABLE conversations, runs IN EXCLUSIVE MODE"))
            for call in (
                records.begin(turn("r2", Key(owner="ana", conversation_id="c2"))),
                records.settle("r1", completed("r1")),
                records.running("r1", "inline", 2_000),
            ):
                with pytest.raises(TurnkeepError) as refused:
                    await call
                assert (refused.value.kind, str(refused.value)) == ("unavailable", "The records do not answer.")
            assert await patient.run("r1") is not None  # readers do not wait for writers

        assert await replayed(records)


async def replayed(records: Records) -> bool:
    """C24: until it is stored. A tenth of a second is not always enough where the machine is busy."""
    while True:
        with suppress(TurnkeepError):
            return await records.settle("r1", completed("r1"))


@pytest.mark.parametrize("address", ["sqlite:////nowhere/at/all.db", "postgresql://turnkeep@/postgres?host=/nowhere"])
async def test_a_database_that_is_not_there_is_unavailable(address: str) -> None:
    async with Records(address) as records:
        with pytest.raises(TurnkeepError) as refused:
            await records.begin(turn("r1"))

    assert (refused.value.kind, str(refused.value)) == ("unavailable", "The records do not answer.")


def test_another_kind_of_database_is_refused() -> None:
    with pytest.raises(TurnkeepError) as refused:
        Records("mysql://somewhere/else")

    assert refused.value.kind == "not_configured"


async def test_a_cancelled_caller_leaves_all_or_nothing(records: Records) -> None:
    """More of them than there are connections, so that one lost with each would be missed."""
    for number in range(30):
        run_id, key = f"r{number}", Key(owner="ana", conversation_id=f"c{number}")
        beginning = asyncio.create_task(records.begin(turn(run_id, key)))
        await asyncio.wait({beginning}, timeout=number / 5_000)
        beginning.cancel()
        await asyncio.wait({beginning})

        assert type(await records.begin(turn(run_id, key))) in {Begun, Known}
        assert [message.run_id for message in await records.messages(key, Span()) or ()] == [run_id]


async def test_what_fails_half_way_leaves_nothing(records: Records) -> None:
    """The answer's row cannot be written after the run's row was changed: the run goes on and may be settled properly."""
    await records.begin(turn("r1"))
    no_json: Any = {1, 2}

    with pytest.raises(StatementError):
        await records.settle("r1", Settlement(status="failed", parts=({"type": no_json},), now_ms=2_000))

    assert await records.run("r1") == run_of(turn("r1"), 1)
    assert await records.settle("r1", completed("r1"))


async def test_a_turn_does_not_begin_while_its_conversation_is_being_deleted(address: str) -> None:
    """C5: what is deleted after the look and before the write is deleted."""
    async with Records(address) as records:
        await records.create(ANA, "", 500)
        async with another_writer(address) as execute:
            await execute(update(conversations).values(deleted_ms=1_500))
            beginning = asyncio.create_task(records.begin(turn("r1")))
            await asyncio.wait({beginning}, timeout=0.1)

        assert await beginning == NotFound()


async def test_closing_waits_for_what_is_under_way(address: str) -> None:
    records = Records(address)

    begun, _ = await asyncio.gather(records.begin(turn("r1")), records.close())

    assert begun == Begun(1)
    async with Records(address) as opened_again:
        assert await opened_again.run("r1") is not None


async def test_a_server_that_was_restarted_is_found_again(postgresql: str) -> None:
    """The pool's connections are all dead, and no caller hears of it."""
    await migrate.upgrade(postgresql)
    cut = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    async with Records(postgresql) as records:
        assert await records.conversations("nobody's", "nobody") == ()
        other = Database(postgresql, timeout_ms=5_000)
        await other.write(lambda connection: connection.execute(cut))
        await other.close()

        assert await records.conversations("nobody's", "nobody") == ()


async def test_a_file_is_opened_as_often_as_it_ever_will_be_with_the_first_query(tmp_path: Path) -> None:
    """Else a process that is asked more at once, some day, would seem to lose files."""

    def files() -> int:
        return sum(file.path.startswith(str(tmp_path)) for file in psutil.Process().open_files())

    address = f"sqlite:///{tmp_path}/records.sqlite3"
    await migrate.upgrade(address)
    async with Records(address) as records:
        await records.run("r1")
        await records.running("r1", "inline", 0)
        first = files()
        await asyncio.gather(*(records.run("r1") for _ in range(50)))

        assert files() == first


async def test_connections_of_a_process_hold_little_of_the_file(tmp_path: Path) -> None:
    """In kilobytes, all together; SQLite's own measure is ten megabytes, and it fills them as the file grows."""
    driver = Database(f"sqlite:///{tmp_path}/records.sqlite3", timeout_ms=5_000)._driver
    assert isinstance(driver, SQLite)
    held = [
        -await driver.run(lambda connection: connection.execute(text("PRAGMA cache_size")).scalar_one(), writes=writes)
        for writes in (True, *[False] * READERS)
    ]
    await driver.close()

    assert sum(held) <= 2_000
