"""A tool has acted, and then the turn ends badly: what it did stays in the conversation, whoever ended the turn."""

import json

import pytest

from protocol.json import JsonObject
from providers.script import Script, parse_script
from records.records import Records
from tests.history_rules import broken_rules
from tests.rig import RUN_ID, Rig
from tests.unit.test_runner_history import SECOND, asked_with

CALL: JsonObject = {"type": "tool_use", "id": "a", "name": "send", "input": {"text": "42 euros"}}
RESULT: JsonObject = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "sent 42 euros"}]}


def script(*last: JsonObject) -> Script:
    """A call of the tool, and what the model says after it."""
    tool: JsonObject = {"type": "tool_input", "id": "a", "name": "send", "delta": json.dumps(CALL["input"])}
    calls: list[JsonObject] = [
        {"v": 1, "name": "charge", "input": "Charge me."},
        {"events": [tool, {"type": "stop", "reason": "tool_use"}]},
        {"events": [*last]},
    ]
    return parse_script("\n".join(json.dumps(one) for one in calls))


def word(text: str) -> JsonObject:
    return {"type": "text", "text": text}


ENDS: dict[str, tuple[JsonObject, ...]] = {
    "refused": ({"type": "stop", "reason": "refusal"},),
    "refused in mid-text": (word("I must"), {"type": "stop", "reason": "refusal"}),
    "failed": ({"type": "error", "kind": "upstream"},),
    "cut off": (word("So"), {"type": "stop", "reason": "max_tokens"}),
    "empty": ({"type": "stop", "reason": "end_turn"},),
}


async def next_question(rig: Rig) -> tuple[JsonObject, ...]:
    """What the model is sent with the next turn."""
    return await asked_with(rig, await rig.begin("Did you charge me?", run_id=SECOND))


@pytest.mark.parametrize("name", ENDS)
async def test_what_a_tool_did_outlives_the_end_of_its_turn(name: str) -> None:
    """FR25: call and result stay, together, and nothing is called again."""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await rig.begin("Charge me.")
        await rig.run(script(*ENDS[name]))

        asked = await next_question(rig)

    blocks = [block for message in asked for block in message["content"]]  # type: ignore[union-attr] # a list of blocks
    assert (CALL in blocks, RESULT in blocks, broken_rules(asked)) == (True, True, [])
    assert rig.outside.effects == [f"{RUN_ID}:1.0"]


async def test_a_stop_after_a_tool_forgets_nothing() -> None:
    """FR25 LAW-P3"""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)

        async def stop_once_it_acted(_: str) -> None:
            if rig.outside.effects:
                await rig.store.stop(RUN_ID)

        rig.fault = stop_once_it_acted
        await rig.begin("Charge me.")
        (result,) = await rig.run(script(word("Done."), {"type": "stop"}))

        asked = await next_question(rig)

    blocks = [block for message in asked for block in message["content"]]  # type: ignore[union-attr] # a list of blocks
    assert (result.status, CALL in blocks, RESULT in blocks, broken_rules(asked)) == ("stopped", True, True, [])
    assert rig.outside.effects == [f"{RUN_ID}:1.0"]
