"""A conversation whose stored history is broken goes on, and is put right once."""

from protocol.json import JsonObject
from protocol.turn import TurnRequest
from records.records import Records
from tests.history_rules import broken_rules
from tests.rig import Rig
from tests.unit.test_runner_history import SCRIPT, SECOND, asked_with, said

CALL: JsonObject = {"type": "tool_use", "id": "a", "name": "send", "input": {}}
BROKEN: tuple[JsonObject, ...] = (
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": ""}, CALL]},
)


async def second_turn(rig: Rig, records: Records) -> TurnRequest:
    """A turn after one whose history was stored broken."""
    await rig.begin("Hi.")
    await rig.run(SCRIPT)
    await records.repair("", "talk", {2: BROKEN})
    return await rig.begin("And now?", run_id=SECOND)


async def test_the_next_request_is_accepted_and_the_repair_is_stored() -> None:
    """FR19"""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        asked = await asked_with(rig, await second_turn(rig, records))
        _, answer, *_ = await records.history("", "talk", 3, None)

    assert broken_rules(asked) == []
    assert answer.provider == (asked[1], {"role": "user", "content": asked[2]["content"][:1]})  # type: ignore[index] # blocks


async def test_a_history_that_is_too_long_is_cut_and_the_reader_is_told() -> None:
    """REQ-G4 REQ-B20"""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await rig.begin("Hi.")
        await rig.run(SCRIPT)
        request = await rig.begin("And now?", run_id=SECOND)
        rig.with_limits(history_tokens=10)
        asked = await asked_with(rig, request)
        kinds = [frame["type"] for frame in await rig.frames(SECOND)]

    assert asked == (said("user", "And now?"),)
    assert kinds[:5] == ["start", "data-run", "data-config", "data-context", "start-step"]
