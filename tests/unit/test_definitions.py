"""A turn that began under another definition of its assistant, or whose assistant this build does not have."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from assistants.definition import Assistant
from checkpoints.port import Order
from protocol.turn import SliceResult
from providers.script import parse_script
from records.records import Records
from runner.observe import Silent
from runner.port import Job
from runner.turn import Runner
from tests.rig import RUN_ID, Rig

ADDING = parse_script(
    '{"v":1,"name":"adding","input":"Add."}\n'
    '{"events":[{"type":"tool_input","id":"p","name":"add","delta":"{\\"a\\":1,\\"b\\":2}"},{"type":"stop","reason":"tool_use"}]}\n'
    '{"events":[{"type":"text","text":"3"},{"type":"stop"}]}'
)


@dataclass
class Listening(Silent):
    """Remembers what it was told of."""

    told: list[str] = field(default_factory=list)

    def trouble(self, run_id: str, what: str) -> None:
        self.told.append(what)


async def slice_of(rig: Rig, number: int, *assistants: Assistant) -> SliceResult:
    """One slice, as short as it can be, by a build that has these assistants."""
    parts = replace(rig.parts(ADDING), assistants={one.name: one for one in assistants})
    job = Job(run_id=RUN_ID, order=Order(1, number, 1), mode="workflow", slice_ms=0)
    return await Runner(parts).run(job, asyncio.Event())


async def test_a_turn_goes_on_under_another_definition_and_that_is_told_once() -> None:
    """REQ-D6"""
    observer = Listening()
    async with await Records.in_memory() as records:
        rig = Rig(records=records, observer=observer)
        await rig.begin("Add.")
        changed = replace(rig.assistant, instructions="Add with care.")
        first = await slice_of(rig, 1, rig.assistant)
        second = await slice_of(rig, 2, changed)
        third = second if second.outcome == "ended" else await slice_of(rig, 3, changed)

    assert (first.outcome, third.status) == ("handed_over", "completed")
    assert observer.told == ["the turn began under another definition of its assistant"]


async def test_a_turn_whose_assistant_is_not_here_is_left_to_others() -> None:
    observer = Listening()
    async with await Records.in_memory() as records:
        rig = Rig(records=records, observer=observer)
        await rig.begin("Add.")
        with pytest.raises(LookupError):
            await slice_of(rig, 1)

    assert observer.told == ["this build does not have the turn's assistant"]


def test_the_fingerprint_is_of_what_a_model_sees() -> None:
    one = Assistant(name="a", title="A", instructions="x")

    same = [replace(one, title="B"), replace(one, starters=("Hi.",)), replace(one, name="b")]
    others = [replace(one, instructions="y"), replace(one, model="demo"), replace(one, thinking=True)]
    assert {other.fingerprint for other in same} == {one.fingerprint}
    assert len({one.fingerprint, *(other.fingerprint for other in others)}) == 4
