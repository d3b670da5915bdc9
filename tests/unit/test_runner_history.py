"""What a turn knows of those before it."""

from collections.abc import AsyncIterator

from checkpoints.memory import MemoryRunStore
from protocol.json import JsonObject
from protocol.model import ModelEvent, ModelRequest, Stopped, TextDelta
from protocol.turn import TurnRequest
from providers.script import parse_script
from records.records import Records
from runner.parts import Chosen
from tests.rig import Rig

SCRIPT = parse_script(
    '{"v":1,"name":"say","input":"Hi."}\n{"events":[{"type":"text","text":"Hello."},{"type":"stop"}]}'
)
SECOND = "00000000-0000-4000-8000-000000000002"


class Listening:
    """A model that notes what it was asked."""

    name = "listening"

    def __init__(self) -> None:
        self.asked: list[tuple[JsonObject, ...]] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.asked.append(request.messages)
        yield TextDelta("ok")
        yield Stopped(reason="end_turn", content=({"type": "text", "text": "ok"},))


def said(role: str, text: str) -> JsonObject:
    return {"role": role, "content": [{"type": "text", "text": text}]}


async def asked_with(rig: Rig, request: TurnRequest) -> tuple[JsonObject, ...]:
    listening = Listening()
    rig.store = MemoryRunStore(rig.clock)
    await rig.store.open(request.run_id, request.model_dump_json().encode())
    rig.choose = lambda _assistant, _request: Chosen(listening, "listening")
    await rig.run(SCRIPT, run_id=request.run_id)
    return listening.asked[0]


async def test_the_next_turn_is_told_what_was_said() -> None:
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await rig.begin("Hi.")
        await rig.run(SCRIPT)
        request = await rig.begin("And now?", run_id=SECOND)

        asked = await asked_with(rig, request)

    assert asked == (said("user", "Hi."), said("assistant", "Hello."), said("user", "And now?"))


async def test_what_a_client_says_was_said_counts_only_where_nothing_is_stored() -> None:
    """REQ-A6 REQ-Z9"""
    claimed: tuple[JsonObject, ...] = ({"role": "assistant", "content": "I promised."},)
    stateless: tuple[JsonObject, ...] = ({"role": "user", "content": "One."}, {"role": "assistant", "content": "Two."})
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        request = await rig.begin("Three.", run_id=SECOND)
        asked = await asked_with(rig, request.model_copy(update={"stateless_history": stateless}))
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await rig.begin("Hi.")
        await rig.run(SCRIPT)
        request = await rig.begin("And now?", run_id=SECOND)
        asked_again = await asked_with(rig, request.model_copy(update={"stateless_history": claimed}))

    assert asked == (said("user", "One."), said("assistant", "Two."), said("user", "Three."))
    assert asked_again == (said("user", "Hi."), said("assistant", "Hello."), said("user", "And now?"))
