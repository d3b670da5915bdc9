"""Where "the last N frames" begin."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from api.tail import tail_start
from checkpoints.memory import MemoryRunStore
from checkpoints.port import Append, Claimed, ClaimRequest, Order
from frames.sse import encode
from protocol.frames import Frame
from tests.rig import StillClock

RUN = "00000000-0000-4000-8000-000000000001"

BLOCKS: dict[str, list[Frame]] = {
    "text": [{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "x"}, {"type": "text-end", "id": "t"}],
    "call": [
        {"type": "tool-input-start", "toolCallId": "c", "toolName": "add", "dynamic": True},
        {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "{}"},
        {"type": "tool-input-available", "toolCallId": "c", "toolName": "add", "input": {}, "dynamic": True},
        {"type": "data-tool-progress", "data": {"toolCallId": "c", "progress": 1}, "transient": True},
        {"type": "tool-output-available", "toolCallId": "c", "output": 1, "dynamic": True},
    ],
    "cut": [{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "x"}, {"type": "reset-step"}],
    "step": [{"type": "finish-step"}, {"type": "start-step"}],
    "data": [{"type": "data-usage", "data": {}}],
}  # fmt: skip
CLOSED_AT = {"text": [0], "call": [0], "cut": [0], "step": [0, 1], "data": [0]}  # where in a block nothing is open


async def logged(frames: list[Frame], packing: int) -> MemoryRunStore:
    store = MemoryRunStore(StillClock())
    await store.open(RUN, b"")
    claimed = await store.claim(RUN, ClaimRequest(order=Order(1, 0, 1), owner="one", mode="inline"))
    assert isinstance(claimed, Claimed)
    for start in range(0, len(frames), packing):
        batch = frames[start : start + packing]
        payload = b"".join(encode(start + at, frame) for at, frame in enumerate(batch))
        await store.append(claimed.grip, Append(start=start, count=len(batch), payload=payload))
    return store


@given(names=st.lists(st.sampled_from([*BLOCKS]), max_size=12), packing=st.integers(1, 7))
def test_nothing_is_open_where_a_reader_begins_and_nothing_later_would_do(names: list[str], packing: int) -> None:
    frames: list[Frame] = [{"type": "start", "messageId": "m"}, {"type": "start-step"}]
    closed = [0, 1]
    for name in names:
        closed += [len(frames) + at for at in CLOSED_AT[name]]
        frames += BLOCKS[name]

    async def starts() -> list[int]:
        store = await logged(frames, packing)
        return [await tail_start(store, RUN, wanted) for wanted in range(len(frames))]

    expected = [max(at for at in closed if at <= wanted) for wanted in range(len(frames))]
    assert asyncio.run(starts()) == expected  # [R3]


async def test_a_part_longer_than_any_window_is_begun_at_its_start() -> None:
    deltas: list[Frame] = [{"type": "text-delta", "id": "t", "delta": "x"} for _ in range(3_000)]
    frames: list[Frame] = [
        {"type": "start", "messageId": "m"}, {"type": "start-step"}, {"type": "text-start", "id": "t"}, *deltas,
    ]  # fmt: skip

    assert await tail_start(await logged(frames, 10), RUN, 3_000) == 2


async def test_an_empty_log_begins_at_its_beginning() -> None:
    assert await tail_start(await logged([], 1), RUN, 0) == 0
