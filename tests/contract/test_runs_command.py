"""`python -m app runs` over real parts."""

import json
from argparse import ArgumentParser
from collections.abc import AsyncIterator

import pytest

from app.commands import runs
from protocol.errors import TurnkeepError
from protocol.json import JsonObject
from tests.rig import RUN_ID, Rig
from tests.two_runs import SCRIPT, two_runs


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with two_runs() as made:
        yield made


async def said(rig: Rig, *words: str) -> list[JsonObject]:
    parser = ArgumentParser()
    runs.configure(parser)
    house = runs.House(rig.records, rig.store)
    return [line async for line in runs.carry_out(house, parser.parse_args(words))]


async def test_runs_are_listed_by_state_and_owner_page_by_page(rig: Rig) -> None:
    first = await said(rig, "list", "--limit", "1")
    rest = await said(rig, "list", "--limit", "2", "--after", str(first[-1]["next"]))

    assert [line["run_id"] for line in (first[0], *rest)] == ["second", RUN_ID]
    assert [line["run_id"] for line in await said(rig, "list", "--state", "unfinished")] == ["second"]
    assert await said(rig, "list", "--owner", "nobody") == []


async def test_a_run_is_shown_with_its_calls_and_nothing_that_was_said(rig: Rig) -> None:
    """LAW-P6"""
    (shown,) = await said(rig, "show", "second")

    assert (shown["owner"], shown["status"], shown["attempt"]) == ("ada", "running", 1)
    assert shown["calls"] == [{"step": 1, "ordinal": 0, "tool": "add", "state": "finished"}]
    assert SCRIPT.input not in json.dumps(shown)
    with pytest.raises(TurnkeepError, match="no run third"):
        await said(rig, "show", "third")


async def test_runs_are_stopped_by_name_or_all_of_an_owner(rig: Rig) -> None:
    named = await said(rig, "stop", "second", RUN_ID, "third")
    owned = await said(rig, "stop", "--owner", "ada")
    view = await rig.store.view("second")

    assert [line["status"] for line in named] == ["stopping", "completed", "not_found"]
    assert (owned, view and view.stop) == ([{"run_id": "second", "status": "stopping"}], True)


def test_stopping_everything_has_to_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser()
    runs.configure(parser)

    assert (runs.run(parser.parse_args(["stop"])), capsys.readouterr().err) == (
        2,
        "Say which runs: name them, or give --owner or --state.\n",
    )


async def test_a_log_is_replayed_without_what_was_said_unless_asked_for(rig: Rig) -> None:
    frames = await rig.frames()
    lines = await said(rig, "replay", RUN_ID, "--from", "2")
    whole = await said(rig, "replay", RUN_ID, "--content")

    assert [(line["index"], line["type"]) for line in lines] == [
        (at, frame["type"]) for at, frame in enumerate(frames) if at >= 2
    ]
    assert {key for line in lines for key in line} == {"index", "type", "bytes"}
    assert [line["frame"] for line in whole] == frames
    with pytest.raises(TurnkeepError, match="no log"):
        await said(rig, "replay", "third")
