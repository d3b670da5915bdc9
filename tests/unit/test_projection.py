import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frames import sse
from frames.projection import Projection, Sdk, Wire
from protocol.frames import Frame, data

RUN: list[Frame] = [
    {"type": "start", "messageId": "msg_1"},
    {"type": "start-step"},
    {"type": "text-start", "id": "t1"},
    {"type": "text-delta", "id": "t1", "delta": '\nevent: finish\ndata: {"type":"finish","finishReason":"stop"}\n\n'},
    {"type": "reset-step"},
    {"type": "reasoning-start", "id": "r1"},
    {"type": "reasoning-delta", "id": "r1", "delta": '{"type":"reset-step"}'},
    {"type": "reasoning-end", "id": "r1", "providerMetadata": {"anthropic": {"signature": "c2ln"}}},
    {"type": "tool-input-start", "toolCallId": "c1.1", "toolName": "find", "dynamic": True},
    {"type": "tool-input-delta", "toolCallId": "c1.1", "inputTextDelta": "{}"},
    {"type": "tool-input-available", "toolCallId": "c1.1", "toolName": "find", "input": {}, "dynamic": True},
    {"type": "tool-output-available", "toolCallId": "c1.1", "output": {"type": "finish", "x": 1}, "dynamic": True},
    {"type": "finish-step"},
    data("recovering", {"attempt": 2}),
    {"type": "error", "errorText": "no"},
    {"type": "abort", "reason": "stopped"},
    {"type": "abort"},
    {"type": "finish", "finishReason": "stop"},
]
LOG = b"".join(sse.encode(index, frame) for index, frame in enumerate(RUN))
RESET = {"type": "data-reset", "data": {}}

# What the strict schema of SDK 5 lets through: any key more, and the turn is dead.
KEYS_OF_SDK_5 = {
    "start": {"messageId"},
    "start-step": set(),
    "finish-step": set(),
    "text-start": {"id"},
    "text-delta": {"id", "delta"},
    "text-end": {"id"},
    "reasoning-start": {"id"},
    "reasoning-delta": {"id", "delta"},
    "reasoning-end": {"id", "providerMetadata"},
    "tool-input-start": {"toolCallId", "toolName", "dynamic"},
    "tool-input-delta": {"toolCallId", "inputTextDelta"},
    "tool-input-available": {"toolCallId", "toolName", "input", "dynamic"},
    "tool-output-available": {"toolCallId", "output", "dynamic"},
    "tool-output-error": {"toolCallId", "errorText", "dynamic"},
    "error": {"errorText"},
    "abort": set[str](),
    "finish": set(),
}


def seen(payload: bytes) -> list[dict[str, Any]]:
    return [dict(sse.decode(piece)[1]) for piece in sse.split(payload)]


def test_the_newest_client_gets_the_same_object() -> None:
    assert Projection()(LOG) is LOG


def test_sdk_6_gets_a_data_frame_for_a_reset() -> None:
    assert seen(Projection(6)(LOG)) == [RESET if frame["type"] == "reset-step" else frame for frame in RUN]
    assert b'id: 4\nevent: data-reset\ndata: {"type":"data-reset",' in Projection(6)(LOG)


def test_sdk_5_gets_no_key_and_no_type_that_it_refuses() -> None:
    for frame in seen(Projection(5)(LOG)):
        allowed = KEYS_OF_SDK_5.get(frame["type"], {"id", "data", "transient"})
        assert frame.keys() - {"type"} <= allowed
        assert frame["type"] in KEYS_OF_SDK_5 or frame["type"].startswith("data-")


def test_sdk_5_loses_nothing_else() -> None:
    changed = {"reset-step": RESET, "finish": {"type": "finish"}, "abort": {"type": "abort"}}
    assert seen(Projection(5)(LOG)) == [changed.get(frame["type"], frame) for frame in RUN]


def test_plain_readers_get_no_event_lines() -> None:
    pieces = sse.split(Projection(wire="data")(LOG))
    assert pieces == [
        b"id: %d\ndata: %s\n\n" % (n, json.dumps(f, separators=(",", ":")).encode()) for n, f in enumerate(RUN)
    ]


@given(
    sdk=st.sampled_from((5, 6, 7)), wire=st.sampled_from(("named", "data")), cuts=st.sets(st.integers(1, len(RUN) - 1))
)
def test_a_projection_keeps_every_index_however_the_log_is_packed(sdk: Sdk, wire: Wire, cuts: set[int]) -> None:
    """C19, FR04"""
    pieces, edges = sse.split(LOG), [0, *sorted(cuts), len(RUN)]
    packed = [b"".join(pieces[start:end]) for start, end in itertools.pairwise(edges)]
    projected = b"".join(map(Projection(sdk, wire), packed))
    assert projected == Projection(sdk, wire)(LOG)
    assert [int(number) for number in re.findall(rb"^id: (\d+)$", projected, re.MULTILINE)] == list(range(len(RUN)))
    assert len(sse.split(projected)) == len(RUN)


@pytest.mark.parametrize("piece", [sse.OPEN, sse.HEARTBEAT, sse.DONE])
def test_what_is_no_frame_passes(piece: bytes) -> None:
    assert Projection(5, "data")(piece) == piece
