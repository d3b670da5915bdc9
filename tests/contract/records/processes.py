"""Several processes on one database, in step: what races is the database's locking, not one event loop's turns."""

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any

from protocol.model import Usage
from records import migrate
from records.records import Records
from records.spend_values import Admission, Charge, Reservation
from records.values import Beginning, Key
from tests.contract.records.values import completed, spending, turn

Rounds = list[Any]  # of what each round gave
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


def reserving(address: str, number: int) -> Rounds:
    """Ask, in each round, for the budget's last place, and charge what was reserved in the rounds before."""
    mine: list[Reservation] = []

    async def one(records: Records, step: int) -> Admission:
        # What was reserved is charged with less than half: there is room for one call a round, whoever gets it.
        for call in mine:
            await records.charge(call, Charge(usage=Usage(input_tokens=1), micro_usd=70), 2_000)
        mine.clear()
        _barrier.wait(PATIENCE)
        call = spending(f"r{number}", number=step + 1, micro_usd=100)
        admission = await records.reserve(call, step * 70 + 100)
        if admission == "reserved":
            mine.append(call)
        return admission

    async def last(records: Records) -> None:
        for call in mine:
            await records.charge(call, Charge(usage=Usage(input_tokens=1), micro_usd=70), 2_000)

    return _rounds(address, one, last)


def ending_while_others_reserve(address: str, number: int) -> Rounds:
    """End the round's run in one process, in which the others ask a model."""

    async def one(records: Records, step: int) -> Admission | None:
        if number == 0:
            await records.settle(f"r{step}", completed(f"r{step}"))
            return None
        return await records.reserve(spending(f"r{step}", number=number), 1_000_000)

    return _rounds(address, one)


async def _nothing(_: Records) -> None:
    pass


def _conversation(step: int, number: int = 0) -> Key:
    return Key(owner="ana", conversation_id=f"c{step}-{number}")


def _rounds(
    address: str,
    work: Callable[[Records, int], Awaitable[Any]],
    last: Callable[[Records], Awaitable[None]] = _nothing,
) -> Rounds:
    async def all_rounds() -> Rounds:
        results = []
        async with Records(address) as records:
            await records.run("warm")
            for step in range(ROUNDS):
                _barrier.wait(PATIENCE)
                results.append(await work(records, step))
            await last(records)
        return results

    return asyncio.run(all_rounds())
