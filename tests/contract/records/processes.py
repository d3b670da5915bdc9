"""Several processes on one database, in step: what races is the database's locking, not one event loop's turns."""

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from threading import Barrier
from typing import TypeVar

from records import migrate
from records.records import Records
from records.values import Beginning, Key
from tests.contract.records.values import completed, turn

Value = TypeVar("Value")
Rounds = list[Beginning]

COUNT = 3
ROUNDS = 25
PATIENCE = 20  # seconds, for the other processes to start

_barrier: Barrier


def _remember(barrier: Barrier) -> None:
    global _barrier  # noqa: PLW0603 a barrier reaches a pool's processes only by inheritance
    _barrier = barrier


async def in_each(work: Callable[[str, int], Value], address: str) -> list[Value]:
    """What `work(address, number)` gave in each process."""
    context = multiprocessing.get_context("spawn")
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(COUNT, context, initializer=_remember, initargs=(context.Barrier(COUNT),)) as pool:
        return await asyncio.gather(*(loop.run_in_executor(pool, work, address, number) for number in range(COUNT)))


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
