"""The budget of a day: asked before every model call, and a turn that finds no room is handed off."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import reduce

import pytest

from engine.fold import fold
from engine.settle import OVER_BUDGET
from frames.replay import frames_of
from protocol.checkpoint import Message
from protocol.turn import TurnInput
from providers.script import parse_script
from records.records import Records
from runner.parts import Chosen
from tests.bill import Talker, Told, bill, price, said
from tests.rig import RUN_ID, Rig

TALK = parse_script('{"v":1,"name":"unused","input":"Talk."}')
SEND = parse_script(
    '{"v":1,"name":"send","input":"Send."}\n'
    '{"events":[{"type":"text","text":"I send it."},{"type":"tool_input","id":"a","name":"send","delta":"{\\"text\\":\\"x\\"}"},'
    '{"type":"stop","reason":"tool_use","usage":{"input_tokens":900,"output_tokens":100}}]}\n'
    '{"events":[{"type":"text","text":"Sent."},{"type":"stop"}]}'
)
HANDOFF = {"type": "data-handoff", "data": {"reason": "budget", "payload": {"message": OVER_BUDGET.message}}}


@pytest.fixture
async def records() -> AsyncIterator[Records]:
    async with await Records.in_memory() as empty:
        yield empty


def rig_of(records: Records, budget: int, told: Told | None = None) -> Rig:
    rig = Rig(records=records, price=price, observer=told or Told())
    rig.settings = replace(rig.settings, budget_micro_usd=budget)
    return rig


async def kinds(rig: Rig) -> list[str]:
    return [frame["type"] for frame in await rig.frames()]


async def test_over_budget_the_run_is_handed_off_before_its_first_call(records: Records) -> None:
    """REQ-Q2, REQ-Q5, FR62: it exists, ends in good order, and the conversation goes on."""
    told, talker = Told(), Talker()
    rig = rig_of(records, 100, told)
    rig.choose = lambda _assistant, _request: Chosen(talker, "talker")
    await rig.begin("Talk.")

    (result,) = await rig.run(TALK)

    assert (result.outcome, result.status, talker.asked, told.decisions) == ("ended", "completed", [], ["over_budget"])
    frames = await rig.frames()
    assert [frame["type"] for frame in frames] == [
        "start", "data-run", "data-config", "start-step", "finish-step", "data-handoff", "data-usage", "data-reply", "finish",
    ]  # fmt: skip
    assert frames[5] == HANDOFF
    assert frames[8] == {"type": "finish", "finishReason": "stop"}
    run = await records.run(RUN_ID)
    assert run is not None
    assert (run.status, run.kind) == ("completed", "budget")
    assert await bill(records) == ()
    await rig.begin("Again.", run_id=RUN_ID.replace("1", "2"))


async def test_a_turn_that_runs_out_of_budget_keeps_what_it_has(records: Records) -> None:
    """FR62, REQ-Q5, LAW-P3: its first call fits, its second does not; what was said and done stands, and is stored."""
    rig = rig_of(records, 10_000)
    rig.with_limits(max_tokens=8_500)  # beside it there is room for one request, but none after a thousand tokens
    await rig.begin("Send.")

    (result,) = await rig.run(SEND)

    assert (result.status, len(rig.outside.effects)) == ("completed", 1)
    message = reduce(fold, await rig.frames(), Message(id=""))
    (stored,) = [one for one in await said(records) if one.role == "assistant"]
    assert stored.parts == message.parts
    assert [part["type"] for part in message.parts] == [
        "step-start", "text", "dynamic-tool", "step-start", "data-handoff", "data-usage",
    ]  # fmt: skip
    replayed = frames_of(message, status="completed", kind="budget")  # as its readers get it when the log is gone
    assert (reduce(fold, replayed, Message(id="")), replayed[-1]) == (
        message,
        {"type": "finish", "finishReason": "stop"},
    )
    assert (stored.cost_micro_usd, [one.micro_usd for one in await bill(records)]) == (1_000, [1_000])


async def test_of_many_turns_at_once_only_those_that_fit_ask_the_model(records: Records) -> None:
    """FR62: room for three, fifty at once; nobody's call ends before all have asked."""
    told, hang = Told(), asyncio.Event()
    talker = Talker(hang=hang)
    rig = rig_of(records, 0, told)
    rig.with_limits(max_tokens=100_000)
    rig.settings = replace(rig.settings, budget_micro_usd=3 * 101_000)  # a request has less than 1,000 tokens
    rig.choose = lambda _assistant, _request: Chosen(talker, "talker")
    ids = [f"00000000-0000-4000-8000-{number:012x}" for number in range(1, 51)]
    for run_id in ids:
        await rig.begin("Talk.", run_id=run_id, conversation_id=run_id)

    turns = [asyncio.create_task(rig.run(TALK, run_id=run_id)) for run_id in ids]
    await asyncio.wait(turns[:4], return_when=asyncio.FIRST_COMPLETED)
    while sum(turn.done() for turn in turns) < 47:
        await asyncio.wait([turn for turn in turns if not turn.done()], return_when=asyncio.FIRST_COMPLETED)
    assert (len(talker.asked), told.decisions.count("over_budget")) == (3, 47)
    hang.set()
    await asyncio.gather(*turns)

    (total,) = await bill(records)
    assert (total.calls, total.open, total.micro_usd) == (3, 0, 3 * 35)


async def test_what_is_said_to_a_turn_without_budget_does_not_keep_it_from_ending(records: Records) -> None:
    """LAW-P1: steering that came before the seal is taken in, and the answer is the same."""
    rig = rig_of(records, 100)
    request = await rig.begin("Talk.")
    steer = TurnInput(id="s1", type="steer", text="Shorter.")
    await rig.store.put_input(request.run_id, steer.id, steer.model_dump_json().encode())

    (result,) = await rig.run(TALK)

    assert (result.status, (await kinds(rig))[-1]) == ("completed", "finish")


async def test_a_stop_that_came_first_is_a_stop(records: Records) -> None:
    """C3: and nothing is handed off."""
    rig = rig_of(records, 100)
    await rig.begin("Talk.")

    async def stop_at_the_seal(point: str) -> None:
        if point == "boundary:open":
            await rig.store.stop(RUN_ID)

    rig.fault = stop_at_the_seal

    (result,) = await rig.run(TALK)

    assert (result.status, "data-handoff" in await kinds(rig), "abort" in await kinds(rig)) == ("stopped", False, True)
