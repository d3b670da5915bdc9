"""How a turn is bounded: every limit is a typed end that keeps what was shown."""

import asyncio
from itertools import repeat
from typing import cast

import pytest

from checkpoints.budget import Budget
from checkpoints.memory import MemoryRunStore
from checkpoints.port import Order
from engine.slicing import SliceBudget, SliceUse, hand_over
from protocol.checkpoint import Message, TurnState
from protocol.frames import Frame
from providers.script import Script, parse_script
from records.records import Records
from runner.port import Job
from tests.rig import RUN_ID, Rig, StillClock

ASK = (
    '{"events":[{"type":"tool_input","id":"t","name":"%s","delta":"%s"},'
    '{"type":"stop","reason":"tool_use","usage":{"input_tokens":100}}]}'
)


def loop(name: str = "add", delta: str = '{\\"a\\":1,\\"b\\":1}', calls: int = 60) -> Script:
    lines = ['{"v":1,"name":"loop","input":"Go."}', *repeat(ASK % (name, delta), calls)]
    return parse_script("\n".join(lines))


async def ended(rig: Rig, script: Script) -> tuple[str, str, int]:
    await rig.begin("Go.")
    results = await rig.run(script)
    frames = await rig.frames()
    return (results[-1].status, error_kind(frames), results[-1].steps)


def error_kind(frames: list[Frame]) -> str:
    errors = [cast("dict[str, dict[str, str]]", frame)["data"] for frame in frames if frame["type"] == "data-error"]
    return errors[0]["kind"] if errors else ""


@pytest.mark.parametrize(
    ("limits", "outcome"),
    [
        ({"steps": 3, "repeated_calls": 99}, ("failed", "step_limit", 3)),
        ({"run_tokens": 450, "repeated_calls": 99}, ("failed", "token_limit", 5)),
        ({"repeated_calls": 4}, ("failed", "step_limit", 4)),
    ],
)
async def test_a_loop_ends_typed(limits: dict[str, float], outcome: tuple[str, str, int]) -> None:
    """REQ-G1 FR41: the same call with the same result, again and again, ends the run."""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        rig.with_limits(**limits)

        assert await ended(rig, loop()) == outcome


async def test_a_turn_that_takes_too_long_ends_typed() -> None:
    """FR16: a model that never returns and never fails among them."""
    async with await Records.in_memory() as records:
        clock = StillClock()
        rig = Rig(records=records, clock=clock, store=MemoryRunStore(clock))
        rig.with_limits(run_seconds=10.0, repeated_calls=99)

        async def age(_: str) -> None:
            clock.now += 4_000

        rig.fault = age

        assert await ended(rig, loop()) == ("failed", "timeout", 2)


async def test_a_log_that_is_full_ends_the_turn_in_good_order() -> None:
    """C13 FR48"""
    async with await Records.in_memory() as records:
        clock = StillClock()
        store = MemoryRunStore(clock, budget=Budget(log_bytes=80_000))
        rig = Rig(records=records, clock=clock, store=store)
        rig.with_limits(repeated_calls=99)

        status, kind, _ = await ended(rig, loop())

    assert (status, kind) == ("failed", "too_large")


async def test_a_stop_recorded_before_anyone_came_settles_without_a_model_call() -> None:
    """REQ-G10 C18"""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await rig.begin("Go.")
        await rig.store.stop(RUN_ID)
        results = await rig.run(parse_script('{"v":1,"name":"none","input":"Go."}\n' + ASK % ("add", "{}")))
        frames = await rig.frames()

    assert (results[0].status, [frame["type"] for frame in frames]) == (
        "stopped",
        [
            "start",
            "data-run",
            "data-config",
            "start-step",
            "finish-step",
            "abort",
            "data-usage",
            "data-reply",
            "finish",
        ],
    )


async def test_a_draining_process_hands_over_at_the_next_boundary() -> None:
    """REQ-C12"""
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        drain = asyncio.Event()

        async def drain_at_the_second_step(point: str) -> None:
            if point == "boundary:asked":
                drain.set()

        rig.fault = drain_at_the_second_step
        await rig.begin("Go.")
        result = await rig.runner(loop()).run(Job(run_id=RUN_ID, order=Order(1, 1, 1), mode="inline"), drain)

    assert (result.outcome, result.reason, result.steps) == ("handed_over", "draining", 2)


async def test_an_ended_run_is_not_run_again() -> None:
    """REQ-C3: a duplicate asks no model and adds no frame."""
    script = parse_script(
        '{"v":1,"name":"once","input":"Go."}\n{"events":[{"type":"text","text":"x"},{"type":"stop"}]}'
    )
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await rig.begin("Go.")
        first = await rig.run(script)
        before = await rig.frames()
        second = await rig.run(script, first=2)

        assert (first[0].status, second[0].outcome, second[0].status) == ("completed", "ended", "completed")
        assert before == await rig.frames()


OPEN = TurnState(run_id="r", message=Message(id="m"), phase="open")
ASKED = OPEN.model_copy(update={"phase": "asked"})


@pytest.mark.parametrize(
    ("slice_ms", "state", "use", "draining", "reason"),
    [
        (1_000, OPEN, SliceUse(steps=1, elapsed_ms=1_000, checkpoint_bytes=10), False, "budget"),
        (1_000, OPEN, SliceUse(steps=1, elapsed_ms=999, checkpoint_bytes=10), False, None),
        (1_000, OPEN, SliceUse(steps=0, elapsed_ms=9_999, checkpoint_bytes=10), False, None),
        (1_000, ASKED, SliceUse(steps=1, elapsed_ms=9_999, checkpoint_bytes=10), True, None),
        (None, OPEN, SliceUse(steps=9, elapsed_ms=9_999, checkpoint_bytes=10), False, None),
        (None, OPEN, SliceUse(steps=0, elapsed_ms=0, checkpoint_bytes=10**9), True, "draining"),
        (1_000, OPEN, SliceUse(steps=1, elapsed_ms=9_999, checkpoint_bytes=700_001), False, None),
    ],
)
def test_a_slice_ends_only_at_a_closed_boundary(
    slice_ms: int | None, state: TurnState, use: SliceUse, draining: bool, reason: str | None
) -> None:
    """REQ-D2 REQ-D3 REQ-D5"""
    assert hand_over(SliceBudget(slice_ms=slice_ms), use, state, draining=draining) == reason
