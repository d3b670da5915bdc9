"""Scripted turns whose model calls fail, and the exact frames they give.

`failing/<name>.jsonl` is what the first model says (`again`: when it was tried before), `<name>.other.jsonl` what its
fallback says, where it has one.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from protocol.frames import Frame
from protocol.turn import SliceResult
from providers.script import Script, parse_script
from providers.scripted import ScriptedProvider
from records.records import Records
from runner.parts import Chosen
from tests.golden.frames import expected, folded, stored, written
from tests.rig import Rig
from tools.declare import Artifact, Call, tool

TURNS = Path(__file__).parent / "failing"
NAMES = sorted(path.stem for path in TURNS.glob("*.jsonl") if "." not in path.stem)


@tool(repeat="safe")
async def draw(call: Call, what: str) -> str:
    """Draw something, and show it in two states, with a table."""
    picture = Artifact(kind="image", title=what, media_type="image/svg+xml", url="/draft.svg", id="picture")
    call.present(picture)
    call.present(Artifact(kind="table", content=[["x", 2**60]]))
    call.present(replace(picture, url="/final.svg"))
    return f"drew {what}"


def chosen(name: str) -> Chosen:
    """The model of a turn, and its fallback where there is one."""
    first, *others = (
        Chosen(ScriptedProvider(parse_script(path.read_text())), path.stem.rpartition(".")[2])
        for path in sorted(TURNS.glob(f"{name}*.jsonl"), key=lambda path: len(path.stem))
        if not path.stem.endswith(".frames")
    )
    return Chosen(first.provider, "first", fallbacks=tuple(others))


def prepare(rig: Rig, name: str) -> Script:
    """Let a rig play this turn. What the first model says."""
    rig.with_limits(tries=2)
    rig.more_tools = (draw,)
    rig.choose = lambda _assistant, _request: chosen(name)
    return parse_script((TURNS / f"{name}.jsonl").read_text())


async def play(rig: Rig, name: str, *, slice_ms: int | None = None) -> list[SliceResult]:
    script = prepare(rig, name)
    await rig.begin(script.input)
    return await rig.run(script, slice_ms=slice_ms)


async def frames_of(name: str, *, slice_ms: int | None = None) -> list[Frame]:
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await play(rig, name, slice_ms=slice_ms)
        return await rig.frames()


@pytest.mark.parametrize("slice_ms", [None, 0], ids=["as long as it can", "sliced at every boundary"])
@pytest.mark.parametrize("name", NAMES)
async def test_a_turn_whose_model_fails_gives_exactly_these_frames(name: str, slice_ms: int | None) -> None:
    """REQ-Y2 REQ-G2 REQ-H10 REQ-B20 C21 LAW-P4 [L11]"""
    assert expected(TURNS, name) == written(await frames_of(name, slice_ms=slice_ms))


@pytest.mark.parametrize("name", NAMES)
async def test_the_stored_message_is_the_fold_of_the_frames(name: str) -> None:
    """LAW-P2 [L9]: nothing of a call that failed is left but what it cost (REQ-B25)."""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await play(rig, name)
        message = folded(await rig.frames())
        assert await stored(records) == message.parts


async def test_the_answer_names_who_gave_it_and_the_usage_counts_every_call_once() -> None:
    """REQ-H10 REQ-B25 FR53"""
    frames: list[Any] = await frames_of("fallen_back_in_text")

    usage = next(frame["data"] for frame in frames if frame["type"] == "data-usage")
    reply = next(frame["data"] for frame in frames if frame["type"] == "data-reply")
    assert (usage["inputTokens"], usage["outputTokens"], usage["steps"]) == (50 + 50 + 40, 3 + 4 + 6, 1)
    assert reply["model"] == "scripted:other"


async def test_what_a_tool_presented_is_kept_and_a_newer_one_takes_its_place() -> None:
    """REQ-G5 REQ-B25 [L12]: only what the failed call itself had shown is taken back."""
    message = folded(await frames_of("what_was_drawn_stays"))
    shown: list[Any] = [part for part in message.parts if part["type"] == "data-artifact"]

    assert [(part["id"], part["data"].get("url")) for part in shown] == [("picture", "/final.svg"), ("c1.0.1", None)]
    assert [part["text"] for part in message.parts if part["type"] == "text"] == ["There it is."]


async def test_an_effect_of_a_step_before_the_fallback_is_not_repeated() -> None:
    """LAW-P3 C1"""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await play(rig, "fallen_back_between_tools")

    assert rig.outside.effects == ["00000000-0000-4000-8000-000000000001:2.0"]
