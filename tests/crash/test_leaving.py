"""The suite itself where a machine is slow: what comes late, and what leaves late."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import httpx2
import pytest

from tests.crash.cases import parse_case
from tests.crash.properties import violations
from tests.crash.round import Result, Round
from tests.crash.turn import Turn
from tests.crash.world import World, world

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]


@pytest.fixture
async def here() -> AsyncIterator[World]:
    with TemporaryDirectory(prefix="crash-") as folder:  # a short path: sockets are in it
        async with world(Path(folder)) as made:
            yield made


async def test_a_turn_that_comes_late_to_its_place_goes_past_it(here: World) -> None:
    """Nobody lets it go: it would stand there for ever, and be taken for one without an end."""
    case = parse_case("text:leave:append.before:8")
    results = await Round(here, [case], 1, bound_seconds=30, standing_seconds=0).run()

    assert results == [Result(case=case, hit=False, silence=results[0].silence)]


async def test_an_api_process_that_leaves_is_followed_by_one_at_its_address(here: World) -> None:
    """It still has the address while it hands over what it executes."""
    await here.switch(on=False)
    async with httpx2.AsyncClient(timeout=30) as client:
        turn = Turn(case=parse_case("text:leave:append.before:8"), world=here, client=client, chance=Random(1))
        reading = asyncio.create_task(turn.read())
        await turn.stand(reading)
        assert turn.held is not None
        name = here.of(turn.held.pid)

        await here.pause(name)  # it is slow to hear of it
        here.ask_to_leave(name)
        here.kill("worker-0")
        await here.ready("worker-0")  # meanwhile a process that was started at once would have found the address taken
        here.go_on(name)
        turn.let_go()
        await here.ready()
        await reading

        assert here.pid(name) != turn.held.pid
        assert (await here.left(), await violations(turn)) == ([], [])
