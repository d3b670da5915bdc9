"""What follows when a model call fails: who is asked again, when, and what happens while the turn waits for it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.memory import MemoryRunStore
from checkpoints.port import Order
from engine.failing import LONGEST_WAIT_MS, model_failed, wait_ms
from engine.values import Fallback, Plan, Turn
from protocol.checkpoint import Message, Trying, TurnState
from protocol.errors import ErrorKind, ProviderError
from protocol.model import ModelEvent, ModelRequest, Stopped, TextDelta
from protocol.turn import SliceResult
from providers.script import parse_script
from records.records import Records
from runner.parts import Chosen
from runner.port import Job
from tests.golden.test_failing import play
from tests.rig import RUN_ID, Rig, StillClock

SCRIPT = parse_script(
    '{"v":1,"name":"busy","input":"Go."}\n'
    '{"events":[{"type":"text","text":"Half"},{"type":"error","kind":"rate_limited","retry_after":20}],'
    '"again":[{"type":"text","text":"Whole."},{"type":"stop"}]}'
)
PLAN = Plan(run_id="r", conversation_id="c", message_id="m", assistant="a", model="one")
WITH_OTHERS = replace(PLAN, fallbacks=(Fallback("two"), Fallback("three", foreign=True)))


def failed(error: ProviderError, *, plan: Plan = PLAN, **state: object) -> str:
    """What follows, in a word."""
    turn = Turn(plan=plan, state=TurnState(run_id="r", message=Message(id="m"), phase="open", step=1, **state))
    follow = model_failed(turn, error, 0.0)
    kinds = [frame["type"] for frame in follow.frames]
    return "again" if "data-rate-limited" in kinds else "other" if "data-model-fallback" in kinds else "end"


@pytest.mark.parametrize(
    ("kind", "follows"),
    [
        ("rate_limited", "again"),  # 429
        ("upstream", "again"),  # 529, 5xx, refused, broken off
        ("timeout", "again"),  # silent
        ("unavailable", "again"),
        ("invalid", "end"),  # 400
        ("not_configured", "end"),  # 401, 402, 403, 404 and a spend limit's 429
        ("too_large", "end"),  # 413
        ("context_overflow", "end"),
        ("interrupted", "end"),
    ],
)
def test_what_may_pass_is_tried_again_and_a_refusal_never_is(kind: ErrorKind, follows: str) -> None:
    """REQ-G2 REQ-V1"""
    assert failed(ProviderError(kind, "")) == follows
    if follows == "end":
        assert failed(ProviderError(kind, ""), plan=WITH_OTHERS) == "end"


def test_a_call_that_used_up_its_time_is_not_tried_again() -> None:
    """REQ-H9 REQ-H10"""
    assert failed(ProviderError("timeout", "", over=True)) == "end"


def test_tries_are_bounded_and_then_the_next_model_is_asked() -> None:
    error, plan = ProviderError("upstream", ""), WITH_OTHERS

    assert failed(error, plan=plan, trying=Trying(tries=1)) == "again"
    assert failed(error, plan=plan, trying=Trying(tries=2)) == "other"
    assert failed(error, plan=plan, trying=Trying(tries=2), fallback=1) == "other"
    assert failed(error, plan=plan, trying=Trying(tries=2), fallback=2) == "end"
    assert failed(error, trying=Trying(tries=2)) == "end"


def test_a_wait_longer_than_what_is_left_of_the_turn_is_not_begun() -> None:
    error = ProviderError("rate_limited", "", retry_after=60)

    assert failed(error, elapsed_ms=PLAN.run_ms - 60_001) == "again"
    assert failed(error, elapsed_ms=PLAN.run_ms - 60_000) == "end"


def test_where_another_model_can_answer_nobody_waits_for_long() -> None:
    plan = WITH_OTHERS

    assert failed(ProviderError("rate_limited", "", retry_after=30), plan=plan) == "again"
    assert failed(ProviderError("rate_limited", "", retry_after=30.1), plan=plan) == "other"
    assert failed(ProviderError("rate_limited", "", retry_after=30.1), plan=plan, fallback=2) == "again"


@given(st.integers(0, 1_000), st.floats(0, 1), st.none() | st.integers(0, 3_600))
def test_waits_grow_to_a_cap_and_are_spread(tries: int, chance: float, retry_after: int | None) -> None:
    error = ProviderError("upstream", "", retry_after=retry_after)
    shortest, longest = wait_ms(tries, error, 0.0), wait_ms(tries, error, 1.0)
    own = min(LONGEST_WAIT_MS, 500 * 2**tries)

    assert shortest <= wait_ms(tries, error, chance) <= longest
    assert longest - shortest == own // 2
    assert shortest == (own // 2 if retry_after is None else retry_after * 1000)


def test_thoughts_of_another_provider_stay_behind() -> None:
    history = ({"role": "user", "content": []},)
    state = TurnState(run_id="r", message=Message(id="m"), phase="open", history=history, trying=Trying(tries=9))
    plan = WITH_OTHERS
    second = model_failed(Turn(plan=plan, state=state), ProviderError("upstream", ""), 1.0).turn
    again = second.state.model_copy(update={"trying": Trying(tries=9)})
    third = model_failed(Turn(plan=plan, state=again), ProviderError("upstream", ""), 1.0).turn

    assert (second.state.model, second.state.foreign) == ("two", 0)
    assert (third.state.model, third.state.foreign) == ("three", 1)


async def test_a_stop_while_waiting_ends_at_once() -> None:
    """REQ-G10 [S2]"""
    async with await Records.in_memory() as records:
        rig, waited = _waiting(records)
        turn = asyncio.create_task(_run(rig, asyncio.Event()))
        await waited.wait()
        await rig.store.stop(RUN_ID)
        result = await turn
        kinds = [frame["type"] for frame in await rig.frames()]

    assert result.status == "stopped"
    assert kinds[-6:] == ["data-rate-limited", "finish-step", "abort", "data-usage", "data-reply", "finish"]


async def test_a_hand_over_while_waiting_is_at_once_and_loses_no_place() -> None:
    """REQ-C12: the next one neither withdraws anything nor begins to count or to wait anew."""
    async with await Records.in_memory() as records:
        rig, waited = _waiting(records)
        drain = asyncio.Event()
        turn = asyncio.create_task(_run(rig, drain))
        await waited.wait()
        drain.set()
        first = await turn
        rig.clock.now += 15_000
        waits: list[float] = []

        async def pause(seconds: float) -> None:
            waits.append(seconds)

        rig.pause = pause
        second = await _run(rig, asyncio.Event(), 2)
        kinds = [frame["type"] for frame in await rig.frames()]

    assert (first.outcome, first.reason, second.status) == ("handed_over", "draining", "completed")
    assert waits == [5.25]
    assert (kinds.count("data-recovering"), kinds.count("reset-step"), kinds.count("data-rate-limited")) == (0, 1, 1)


async def test_what_two_providers_thought_is_not_kept_for_the_next_turn() -> None:
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await play(rig, "fallen_back_between_tools")
        *_, answer = await records.history("", "talk", 3, None)

    assert "thinking" not in [block["type"] for message in answer.provider for block in message["content"]]  # type: ignore[union-attr, index, call-overload] # blocks


async def test_another_provider_is_not_sent_what_the_first_one_thought() -> None:
    """FR20: it could not check the signature, and would refuse the whole request."""
    thoughtful = parse_script(
        '{"v":1,"name":"thoughtful","input":"Go."}\n'
        '{"events":[{"type":"thinking","text":"Hm.","signature":"s"},{"type":"tool_input","id":"a","name":"weather",'
        '"delta":"{\\"city\\":\\"Rome\\"}"},{"type":"stop","reason":"tool_use"}]}\n'
        '{"events":[{"type":"error","kind":"upstream"}]}'
    )
    other = _Other()
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        first = rig.provider(thoughtful)
        rig.choose = lambda _assistant, _request: Chosen(first, "first", fallbacks=(Chosen(other, "other"),))
        await rig.begin("Go.")
        await rig.run(thoughtful)

    [asked] = other.asked
    assert [block["type"] for message in asked.messages for block in message["content"]] == [  # type: ignore[union-attr, index, call-overload] # blocks
        "text",
        "tool_use",
        "tool_result",
    ]


class _Other:
    """A model that notes what it was asked."""

    name = "other"

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.asked.append(request)
        yield TextDelta("ok")
        yield Stopped(reason="end_turn", content=({"type": "text", "text": "ok"},))


def _waiting(records: Records) -> tuple[Rig, asyncio.Event]:
    """A turn that will wait for ever, and what tells when it does."""
    clock = StillClock()
    rig = Rig(records=records, clock=clock, store=MemoryRunStore(clock))
    rig.with_limits(tries=2)
    waited = asyncio.Event()

    async def pause(_: float) -> None:
        waited.set()
        await asyncio.Event().wait()

    rig.pause = pause
    return rig, waited


async def _run(rig: Rig, drain: asyncio.Event, slice_number: int = 1) -> SliceResult:
    if slice_number == 1:
        await rig.begin("Go.")
    job = Job(run_id=RUN_ID, order=Order(1, slice_number, 1), mode="workflow")
    return await rig.runner(SCRIPT).run(job, drain)
