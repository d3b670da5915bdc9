"""What golden tests compare: the lines of a log, those in a file, and a stored answer with the fold of its frames."""

from pathlib import Path

from engine.fold import fold
from frames import sse
from protocol.checkpoint import Message
from protocol.frames import Frame
from protocol.json import JsonObject
from records.records import Records
from records.values import Key, Span


def written(frames: list[Frame]) -> list[str]:
    """The data lines of a log, byte for byte."""
    pieces = [sse.encode(index, frame) for index, frame in enumerate(frames)]
    return [piece.decode().split("data: ", 1)[1].rstrip("\n") for piece in pieces]


def expected(turns: Path, name: str) -> list[str]:
    """The same as they were recorded."""
    return (turns / f"{name}.frames.jsonl").read_text().splitlines()


def folded(frames: list[Frame]) -> Message:
    """The message that frames stand for."""
    message = Message(id="")
    for frame in frames:
        message = fold(message, frame)
    return message


async def stored(records: Records) -> tuple[JsonObject, ...]:
    """The parts of the conversation's last message."""
    messages = await records.messages(Key(owner="ada", conversation_id="talk"), Span())
    assert messages
    assert messages[-1].role == "assistant"
    return messages[-1].parts
