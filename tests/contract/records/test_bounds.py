"""Every call ends: with its value, or typed, in the time it was given. Nothing is lost or half done by that."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import StatementError
from sqlalchemy.ext.asyncio import create_async_engine

from protocol.errors import TurnkeepError
from records import migrate
from records.database import Database
from records.records import Records
from records.values import Begun, Key, Known, Settlement, Span
from tests.contract.records.values import completed, run_of, turn


@asynccontextmanager
async def locked(address: str) -> AsyncIterator[None]:
    """Another process writes, and takes its time."""
    url = make_url(address)
    if url.get_backend_name() == "sqlite":
        connection = sqlite3.connect(str(url.database), isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.close()
        return
    engine = create_async_engine(url.set(drivername="postgresql+asyncpg"))
    async with engine.begin() as holder:
        await holder.execute(text("LOCK TABLE conversations, runs IN EXCLUSIVE MODE"))
        yield
    await engine.dispose()


async def test_a_database_that_does_not_answer_in_time_is_unavailable(address: str) -> None:
    async with Records(address) as patient, Records(address, timeout_ms=100) as records:
        await patient.begin(turn("r1"))
        async with locked(address):
            for call in (
                records.begin(turn("r2", Key(owner="ana", conversation_id="c2"))),
                records.settle("r1", completed("r1")),
                records.running("r1", "inline", 2_000),
            ):
                with pytest.raises(TurnkeepError) as refused:
                    await call
                assert (refused.value.kind, str(refused.value)) == ("unavailable", "The records do not answer.")
            assert await records.run("r1") is not None  # readers do not wait for writers

        assert await records.settle("r1", completed("r1"))  # C24: it may be replayed until it is stored


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
