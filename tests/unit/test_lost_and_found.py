"""A store that loses what it was told, under an executor that lives (C5, C9): at every write, as much as it likes.

A reader that was there all the time has no gap, nothing twice, and in the end the stored message.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoints.port import Order
from protocol.turn import SliceResult
from providers.script import Script, parse_script
from records.records import Records
from records.values import Key, Span
from runner.port import Job
from tests.forgetful import Forgetful, Reader
from tests.rig import RUN_ID, Rig, StillClock

TURNS = Path(__file__).parent.parent / "golden" / "turns"
NAMES = ("plain_text", "chunk_joins", "tool_round_trip", "parallel_tools", "thinking", "model_error")

Lose = Callable[[Forgetful], None]


def script_of(name: str) -> Script:
    return parse_script((TURNS / f"{name}.jsonl").read_text())


async def attempt(rig: Rig, script: Script, number: int = 1) -> SliceResult:
    job = Job(run_id=RUN_ID, order=Order(1, 1, number), mode="workflow")
    return await rig.runner(script).run(job, asyncio.Event())


async def play(
    name: str, at: int = 10_000, lose: Lose = lambda _: None, *, silent: int = 0, written: bool = False
) -> Forgetful:
    """One turn with one loss. P1, P2 and P3 are checked for a reader that saw everything."""
    async with await Records.in_memory() as records:
        clock = StillClock()
        store, reader, script = Forgetful(clock, at, lose, silent, written), Reader(), script_of(name)
        rig = Rig(records=records, clock=clock, store=store)
        await rig.begin(script.input)
        await store.subscribe(RUN_ID, reader.take)

        result = await attempt(rig, script)

        stored = await records.messages(Key(owner="ada", conversation_id="talk"), Span())
        assert stored is not None
        assert result.outcome == "ended", (at, result)
        assert [reader.message.parts] == [one.parts for one in stored if one.role == "assistant"], "LAW-P2"
        assert all(count == 1 for count in Counter(rig.outside.effects).values()), "LAW-P3"
        # What is lost once the records have the answer is not brought back: they answer for it.
        assert reader.kinds in (undisturbed(name), undisturbed(name)[:-2]), "LAW-P1"
        return store


def undisturbed(name: str) -> list[str]:
    """The kinds of a turn's frames."""
    lines = (TURNS / f"{name}.frames.jsonl").read_text().splitlines()
    return [json.loads(line)["type"] for line in lines]


async def writes_of(name: str) -> int:
    return (await play(name)).writes


@pytest.mark.parametrize("name", NAMES)
async def test_a_tail_lost_at_any_write_is_written_again(name: str) -> None:
    """C9, FR18."""
    for at in range(1, await writes_of(name)):
        for back in (1, at):
            store = await play(name, at, lambda store, back=back: store.go_back(back))  # type: ignore[misc] # it binds
            page = await store.read(RUN_ID, 0, 1 << 30)
            assert page is not None
            assert page.first == 0


@pytest.mark.parametrize("written", [True, False], ids=["written", "not written"])
@pytest.mark.parametrize("name", ["chunk_joins", "parallel_tools"])
async def test_a_write_that_is_not_answered_is_made_once(name: str, *, written: bool) -> None:
    """FR18: wherever that happens, and twice in a row; the model is not asked again."""
    for at in range(await writes_of(name)):
        await play(name, at, silent=2, written=written)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
async def test_a_store_emptied_at_any_write_is_filled_again(name: str) -> None:
    """C5, FR60."""
    for at in range(await writes_of(name)):
        await play(name, at, Forgetful.flush)
