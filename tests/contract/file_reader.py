"""A house whose model can read files and keeps what it was asked."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from protocol.json import JsonObject
from protocol.model import BlockEnded, ModelEvent, ModelRequest, Stopped, TextDelta
from runner.parts import Chosen
from tests.contract.http_house import Change, House, running

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
TEXT = "Zwölf Zeilen <b>Text</b>\n".encode()


@dataclass
class Reader:
    """A model that can read files, and keeps what it was asked."""

    name = "reader"
    asked: list[ModelRequest] = field(default_factory=list)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.asked.append(request)
        yield TextDelta("I see.")
        yield BlockEnded()
        yield Stopped(reason="end_turn", content=({"type": "text", "text": "I see."},), model=request.model)


@asynccontextmanager
async def reading_files(model: Reader, change: Change = lambda parts: parts) -> AsyncIterator[House]:
    """A house with changed parts, in which this model is asked."""
    async with running(change) as house:
        house.rig.choose = lambda _, __: Chosen(model, "claude-opus-4-8")
        yield house


def data_url(content: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def attaching(content: bytes, media_type: str, name: str) -> JsonObject:
    """The part of the AI SDK's that holds a file."""
    return {"type": "file", "mediaType": media_type, "filename": name, "url": data_url(content, media_type)}
