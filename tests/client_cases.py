"""The cases that every client passes, as values: what a server answers in turn, and what must come of it.

A case is data (tests/cases/client, tests/cases/fold), so that the JavaScript and the Python client are held to the same.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turnkeep_client import fold

CASES = Path(__file__).parent / "cases"
RUN_ID = "0f5c9e2a-7b1d-4c3e-8a6f-001122334455"

Frame = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldCase:
    title: str
    frames: list[Frame]
    message: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCase:
    """`exchanges` is what is asked, in order, and what is answered; `pauses` are in milliseconds, without jitter."""

    title: str
    fold: str
    exchanges: list[dict[str, Any]]
    pauses: list[int]
    outcome: dict[str, Any]
    start: dict[str, Any] | None = None
    message: dict[str, Any] | None = None

    @property
    def frames(self) -> list[Frame]:
        return fold_case(self.fold).frames

    @property
    def expected_message(self) -> dict[str, Any]:
        if self.message is None:
            return fold_case(self.fold).message
        return self.message["is"] if "is" in self.message else folded(self.frames[: self.message["upTo"]])


def fold_case(name: str) -> FoldCase:
    return FoldCase(**json.loads((CASES / "fold" / f"{name}.json").read_text()))


def fold_cases() -> dict[str, FoldCase]:
    return {path.stem: fold_case(path.stem) for path in sorted((CASES / "fold").glob("*.json"))}


def client_cases() -> dict[str, ClientCase]:
    paths = sorted((CASES / "client").glob("*.json"))
    return {path.stem: ClientCase(**json.loads(path.read_text())) for path in paths}


def folded(frames: list[Frame]) -> dict[str, Any]:
    message = fold.empty()
    for frame in frames:
        message = fold.fold(message, frame)
    return message


def encode(index: int, frame: Frame) -> bytes:
    """A frame as the server writes it. Spelled out here, because a client is tested against the wire and not our encoder."""
    event = "" if frame["type"] == "error" else f"event: {frame['type']}\n"
    return f"id: {index}\n{event}data: {json.dumps(frame, separators=(',', ':'))}\n\n".encode()


def stream_bytes(case: ClientCase, exchange: dict[str, Any]) -> bytes:
    """The body of one exchange up to where it ends or is cut: a comment first, a heartbeat between frames."""
    frames = case.frames
    ranges: list[list[int]] = exchange["frames"]
    written = [encode(index, frames[index]) for start, end in ranges for index in range(start, end)]
    body = b": open\n\n" + b": heartbeat\n\n".join(written)
    last = ranges[-1][1]
    if last == len(frames):
        return body + b"data: [DONE]\n\n"
    return body + (encode(last, frames[last])[:-5] if exchange["end"] == "half" else b"")
