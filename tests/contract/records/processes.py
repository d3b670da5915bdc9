"""Several processes on one database, in step: what races is the database's locking, not one event loop's turns."""

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any

from records import migrate
from records.records import Records
from records.values import Beginning, Key
from tests.contract.records.values import completed, turn

Rounds = list[Beginning]
Work = Callable[[str, int], Any]
InEach = Callable[[Work, str], Awaitable[list[Any]]]

COUNT = 3
ROUNDS = 25
PATIENCE = 20  # seconds, for the other processes to start

_barrier: Barrier


def _remember(barrier: Barrier) -> None:
    global _barrier  # noqa: PLW0603 a barrier reaches a pool's processes only by inheritance
    _barrier = barrier


@contextmanager
def pool() -> Iterator[InEach]:
    """The processes. They are started once; every piece of work is done in each of them, with the process's number."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(COUNT)
    with ProcessPoolExecutor(COUNT, context, initializer=_remember, initargs=(barrier,)) as executor:

        async def in_each(work: Work, address: str) -> list[Any]:
            # Work begins at the barrier, so no process can take two pieces.
            loop = asyncio.get_running_loop()
            return await asyncio.gather(*(loop.run_in_executor(executor, work, address, each) for each in range(COUNT)))

        yield in_each


def upgrading(address: str, _: int) -> None:
    """Start up on a database that has no tables."""
    _barrier.wait(PATIENCE)
    asyncio.run(migrate.upgrade(address))


def beginning_runs_of_their_own(address: str, number: int) -> Rounds:
    """Begin, in each round, a run of this process on the round's conversation."""
    return _rounds(address, lambda records, step: records.begin(turn(f"r{step}-{number}", _conversation(step))))


def beginning_the_same_run(address: str, _: int) -> Rounds:
    """Begin, in each round, the round's run on the round's conversation."""
    return _rounds(address, lambda records, step: records.begin(turn(f"r{step}", _conversation(step))))


def beginning_the_same_run_anywhere(address: str, number: int) -> Rounds:
    """Begin, in each round, the round's run on a conversation of this process."""
    return _rounds(address, lambda records, step: records.begin(turn(f"r{step}", _conversation(step, number))))


def beginning_and_settling(address: str, number: int) -> Rounds:
    """Take turns, as often as the place is free, on one conversation."""

    async def one(records: Records, step: int) -> Beginning:
        run_id = f"r{step}-{number}"
        begun = await records.begin(turn(run_id))
        await records.settle(run_id, completed(run_id))
        return begun

    return _rounds(address, one)


def _conversation(step: int, number: int = 0) -> Key:
    return Key(owner="ana", conversation_id=f"c{step}-{number}")


def _rounds(address: str, work: Callable[[Records, int], Awaitable[Beginning]]) -> Rounds:
    async def all_rounds() -> Rounds:
        results = []
        async with Records(address) as records:
            await records.run("warm")
            for step in range(ROUNDS):
                _barrier.wait(PATIENCE)
                results.append(await work(records, step))
        return results

    return asyncio.run(all_rounds())
