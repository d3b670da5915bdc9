"""How long a server may be silent: in what this process could have heard, not in what a clock says."""

import asyncio

import pytest

from protocol.errors import StoreUnavailable
from resp.connection import Bounds
from resp.patience import while_heard
from resp.script import Script
from tests.unit.test_resp_connection import connected

HASTY = Bounds(command=60, prompt=0.01)
SCRIPT = Script(b"return 1", "sha")


def busy(seconds: float) -> None:
    """Keep the loop from its work."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        pass


async def test_a_silent_server_is_given_up() -> None:
    """C6: a new turn is then answered from memory."""
    connection, _ = connected(HASTY)

    with pytest.raises(StoreUnavailable):
        await connection.prompt(SCRIPT, ["k"])


async def test_a_process_that_had_no_time_to_listen_takes_no_server_for_away() -> None:
    connection, _ = connected(HASTY)
    asked = asyncio.create_task(connection.prompt(SCRIPT, ["k"]))
    for _ in range(5):
        await asyncio.sleep(0)
        busy(HASTY.prompt)  # by the clock the time is up, five times

    connection.data_received(b"+OK\r\n")

    assert await asked == b"OK"


async def test_a_sign_of_life_begins_the_wait_anew() -> None:
    signs = iter(range(25))  # more than a wait has pieces

    with pytest.raises(TimeoutError):
        await while_heard(asyncio.Event().wait(), 0.01, lambda: next(signs, None))

    assert list(signs) == []


async def test_what_the_work_raises_is_raised_and_who_leaves_takes_the_work_along() -> None:
    left = asyncio.Event()

    async def fail() -> None:
        raise ConnectionError

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    with pytest.raises(ConnectionError):
        await while_heard(fail(), 60)
    caller = asyncio.create_task(while_heard(wait(), 60))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    caller.cancel()
    await left.wait()
    with pytest.raises(asyncio.CancelledError):
        await caller
