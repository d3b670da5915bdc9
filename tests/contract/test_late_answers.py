"""Answers that waited for the database, brought there by whichever process comes first (C24), over every outbox."""

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest

from checkpoints.memory import MemoryRunStore
from checkpoints.outbox import MemoryOutbox
from checkpoints.outbox_redis import RedisOutbox
from dispatch.outbox import OutboxReplay
from protocol.errors import TurnkeepError
from records.values import Key, Span
from runner.parts import RunnerSettings
from tests.away import AwayRecords, records_of
from tests.rig import RUN_ID, Rig, StillClock
from tests.servers import Server
from tests.stores import client_at
from tests.workflow.durable import script_of

SCRIPT = script_of(1)
TALK = Key(owner="ada", conversation_id="talk")


@pytest.fixture(params=["memory", "valkey"])
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """A turn whose records went away at its end: it has ended, and its answer waits."""
    async with await AwayRecords.in_memory() as records:
        clock = StillClock()
        settings = RunnerSettings(lease_ms=60_000, renew_ms=20_000, records_patience_ms=0)
        rig = Rig(records=records, clock=clock, store=MemoryRunStore(clock), settings=settings)

        async def go_away(point: str) -> None:
            records.away = records.away or point == "sealed"

        rig.fault = go_away
        if request.param == "memory":
            rig.outbox = MemoryOutbox()
            await play(rig)
            yield rig
            return
        keys = request.getfixturevalue("keys")
        async with client_at(cast("Server", request.getfixturevalue("valkey")).address) as client:
            rig.outbox = RedisOutbox(client, keys)
            await play(rig)
            yield rig


async def play(rig: Rig) -> None:
    await rig.begin(SCRIPT.input)
    results = await rig.run(SCRIPT)
    assert results[-1].outcome == "ended"


def replay_of(rig: Rig) -> OutboxReplay:
    return OutboxReplay(rig.outbox, rig.records, rig.clock)


async def answers(rig: Rig) -> list[str]:
    stored = await rig.records.messages(TALK, Span())
    return [one.id for one in stored or () if one.role == "assistant"]


async def test_it_waits_as_long_as_the_database_is_away(rig: Rig) -> None:
    """C24 C25"""
    replay = replay_of(rig)
    for _ in range(3):
        with pytest.raises(TurnkeepError):
            await replay.replay()

    assert (replay.waiting, await rig.outbox.size(), await answers(rig)) == (1, 1, [])


async def test_back_again_it_has_the_answer_once_and_the_conversation_is_free(rig: Rig) -> None:
    """C24 LAW-P1: whoever tries at the same time."""
    before = await rig.records.active_run(TALK)
    records_of(rig).away = False
    replays = [replay_of(rig) for _ in range(3)]
    await asyncio.gather(*(replay.replay() for replay in replays))
    run = await rig.records.run(RUN_ID)

    assert (await answers(rig), run and run.status, await rig.outbox.size()) == (
        ["msg_" + RUN_ID.replace("-", "")],
        "completed",
        0,
    )
    assert (before and before.run_id, await rig.records.active_run(TALK)) == (RUN_ID, None)


async def test_one_that_nobody_can_store_holds_up_no_other(rig: Rig) -> None:
    """C24: it stays, for another build."""
    records_of(rig).away = False
    await rig.outbox.keep("0-broken", b"no seal at all")
    replay = replay_of(rig)
    await replay.replay()

    assert (await rig.outbox.waiting("", 9), replay.waiting, len(await answers(rig))) == (("0-broken",), 1, 1)
