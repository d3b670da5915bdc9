"""Frames as they arrive: their lines, their keys, their order."""

import json
import re
from collections.abc import AsyncIterator
from typing import get_args, get_type_hints

import pytest

from protocol.frames import DATA_NAMES, Frame
from tests.contract.http_house import House, frame, pieces, running, script

LINES = re.compile(rb'id: \d+\n(event: [a-z-]+\n)?data: \{"type":"[\x20-\x7e]+\}\n\n')
SHAPES = {name: shape for shape in get_args(Frame) for name in get_args(get_type_hints(shape)["type"])}
DATA_KEYS = {"type", "id", "data", "transient"}
TALK = script(
    {"events": [
        {"type": "text", "text": "Grüße \u2028 😀"}, {"type": "tool_input", "id": "a", "name": "fail", "delta": "{}"},
        {"type": "tool_input", "id": "b", "name": "add", "delta": '{"a":1,"b":2}'}, {"type": "stop", "reason": "tool_use"},
    ]},
    {"events": [{"type": "text", "text": "Three"}, {"type": "error", "kind": "upstream"}]},
)  # fmt: skip


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as opened:
        opened.plays(TALK)
        yield opened


async def asked(house: House) -> list[bytes]:
    response = await (await house.client()).post("/api/chat", json={"message": "hi"})
    assert response.content == b": open\n\n" + b"".join(pieces(response.content)) + b"data: [DONE]\n\n"  # [F6] REQ-B1
    return pieces(response.content)


async def test_a_frame_is_an_id_an_event_and_one_line_of_ascii(house: House) -> None:
    for index, piece in enumerate(await asked(house)):
        named = frame(piece)["type"]
        event = b"" if named == "error" else f"event: {named}\n".encode()  # [F3]
        assert LINES.fullmatch(piece)  # [F2]
        assert piece.startswith(b"id: %d\n%sdata: {" % (index, event))  # [F1]
        assert b"NaN" not in piece


async def test_a_frame_has_the_keys_of_its_type_and_no_null(house: House) -> None:
    for piece in await asked(house):
        one = frame(piece)
        if one["type"].startswith("data-"):
            assert one["type"].removeprefix("data-") in DATA_NAMES  # [F5]
            assert {"type", "data"} <= set(one) <= DATA_KEYS
        else:
            shape = SHAPES[one["type"]]
            assert shape.__required_keys__ <= set(one) <= shape.__required_keys__ | shape.__optional_keys__  # [F4]
        assert None not in one.values()
        json.dumps(one, allow_nan=False)


async def test_outputs_come_in_the_order_of_the_calls_and_ids_are_used_once(house: House) -> None:
    frames = [frame(piece) for piece in await asked(house)]

    inputs = [one["toolCallId"] for one in frames if one["type"] == "tool-input-available"]
    outputs = [one["toolCallId"] for one in frames if one["type"] in ("tool-output-available", "tool-output-error")]
    opened = [one["id"] for one in frames if one["type"].endswith("-start") and "id" in one]
    assert outputs == inputs  # [L5]
    assert len({*opened, *inputs}) == len(opened) + len(inputs)  # [L4]


async def test_the_joined_deltas_are_the_answer(house: House) -> None:
    client = await house.client()
    streamed = await client.post("/api/chat", json={"message": "hi"})
    whole = (await client.post("/api/chat?stream=0", json={"message": "hi", "conversation_id": "c2"})).json()

    deltas = [frame(piece)["delta"] for piece in pieces(streamed.content) if b"event: text-delta" in piece]
    assert "".join(deltas) == whole["reply"]  # [L6] REQ-B11
