"""What older SDKs are told of decisions and steering: nothing that ends their turn, and everything they can show."""

from typing import Any

import pytest

from frames import sse
from frames.projection import Projection, Sdk
from protocol.frames import Frame

SAID: list[Frame] = [
    {"type": "tool-approval-request", "approvalId": "c1.0", "toolCallId": "c1.0"},
    {"type": "tool-approval-response", "approvalId": "c1.0", "approved": False, "reason": 'No: \nevent: "x"'},
    {"type": "tool-output-denied", "toolCallId": "c1.0"},
    {"type": "steering-message", "id": "s1", "parts": [{"type": "text", "text": '"},{"type":"finish"}\nevent: x'}]},
    {"type": "tool-output-available", "toolCallId": "c1.1", "output": "tool-output-denied", "dynamic": True},
]
LOG = b"".join(sse.encode(index, frame) for index, frame in enumerate(SAID))
AS_ERROR = {"type": "tool-output-error", "toolCallId": "c1.0", "errorText": "Denied.", "dynamic": True}


def as_data(frame: Frame) -> dict[str, Any]:
    rest = {key: value for key, value in frame.items() if key != "type"}
    return {"type": f"data-{frame['type']}", "data": rest, "transient": True}


EXPECTED: dict[Sdk, list[Any]] = {
    7: [*SAID],
    6: [SAID[0], as_data(SAID[1]), SAID[2], as_data(SAID[3]), SAID[4]],
    5: [as_data(SAID[0]), as_data(SAID[1]), AS_ERROR, as_data(SAID[3]), SAID[4]],
}


@pytest.mark.parametrize("sdk", EXPECTED)
def test_a_client_is_told_in_the_words_it_knows(sdk: Sdk) -> None:
    """[R10] C19"""
    pieces = sse.split(Projection(sdk)(LOG))

    assert [sse.decode(piece) for piece in pieces] == list(enumerate(EXPECTED[sdk]))
    assert [piece.split(b"\n")[1].decode() for piece in pieces] == [f"event: {one['type']}" for one in EXPECTED[sdk]]
