"""The files of a conversation on their way to a model.

History holds them as the message does: `{"type": "file", "mediaType", "filename", "url"}`, a reference. The bytes are read just
before a call and are part of its request alone; no checkpoint, log or stored history has them. What is not sent is not read.
"""

import base64
import re
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from engine.blocks import blocks
from protocol.errors import ProviderError, TurnkeepError
from protocol.json import Json, JsonObject
from protocol.model import ModelRequest
from protocol.turn import TurnRequest
from providers.media import reads
from records.files import File, Files

MOST_BYTES: Final = 20_000_000  # of all files of a request; providers take 32 MB, and base64 adds a third
IMAGE_TOKENS: Final = 5_000  # an image has at most about so many, whatever its size
BYTES_A_TOKEN: Final = 10  # of a PDF, at least; a page counts as text and as an image
_ID: Final = re.compile(r"file_[0-9a-f]{32}$")

Read = TypeVar("Read")


class Attachments:
    """Puts the files of a turn's owner into its requests."""

    def __init__(self, files: Files, turn: TurnRequest) -> None:
        self._files = files
        self._owner = turn.tenant, turn.owner

    async def __call__(self, request: ModelRequest) -> ModelRequest:
        """The request with the files that fit, the newest first. Raises ProviderError: `unavailable`."""
        parts = [block for message in request.messages for block in blocks(message) if _is_file(block)]
        if not parts:
            return request
        known = await self._read(self._files.find(*self._owner, {_id_of(part) for part in parts}))
        room = MOST_BYTES
        messages: list[JsonObject] = []
        for message in reversed(request.messages):
            content: list[Json] = []
            for block in blocks(message):
                shown, taken = await self._shown(block, request.model, known, room) if _is_file(block) else (block, 0)
                content.append(shown)
                room -= taken
            messages.append({**message, "content": content})
        return replace(request, messages=tuple(reversed(messages)))

    async def _shown(
        self, part: JsonObject, model: str, known: Mapping[str, File], room: int
    ) -> tuple[JsonObject, int]:
        """The block that stands for a file, and how many bytes it takes."""
        media_type = str(part["mediaType"])
        if media_type != "text/plain" and not reads(model, media_type):
            return _note(part, "The model cannot read it."), 0
        file = known.get(_id_of(part))
        if file is not None and file.size > room:
            return _note(part, "It is left out: the conversation has too many large files."), 0
        content = None if file is None else await self._read(self._files.content(*self._owner, file.id))
        if content is None:
            return _note(part, "It is not there any more."), 0
        return _block(part, content, document=reads(model, media_type)), len(content)

    async def _read(self, reading: Awaitable[Read]) -> Read:
        try:
            return await reading
        except TurnkeepError:
            raise ProviderError("unavailable", "A file could not be read.") from None


def weigh(messages: Sequence[JsonObject]) -> tuple[list[JsonObject], int]:
    """The messages without the bytes of their images and PDFs, and how many tokens those come to at most."""
    encoded = [_encoded(block) for message in messages for block in blocks(message)]
    if not any(encoded):
        return list(messages), 0
    light: list[JsonObject] = [
        {**message, "content": [{**block, "source": None} if _encoded(block) else block for block in blocks(message)]}
        for message in messages
    ]
    return light, sum(max(IMAGE_TOKENS, size // BYTES_A_TOKEN) for size in encoded if size)


def _encoded(block: JsonObject) -> int:
    """How long the base64 of a block is; an image counts as if it were short."""
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        return 0
    return 1 if block["type"] == "image" else len(str(source["data"]))


def _is_file(block: JsonObject) -> bool:
    return block.get("type") == "file"


def _id_of(part: JsonObject) -> str:
    found = _ID.search(str(part["url"]))
    return found[0] if found else ""


def _block(part: JsonObject, content: bytes, *, document: bool) -> JsonObject:
    name, media_type = str(part["filename"]), str(part["mediaType"])
    if media_type == "text/plain":
        text = content.decode()
        if not document:  # as material: who reads nothing else can quote it
            return {"type": "search_result", "title": name, "source": name, "content": [{"type": "text", "text": text}]}
        return {"type": "document", "title": name, "source": {"type": "text", "media_type": media_type, "data": text}}
    data = base64.b64encode(content).decode("ascii")
    source: JsonObject = {"type": "base64", "media_type": media_type, "data": data}
    if media_type == "application/pdf":
        return {"type": "document", "title": name, "source": source}
    return {"type": "image", "source": source}


def _note(part: JsonObject, why: str) -> JsonObject:
    return {"type": "text", "text": f"[A file was attached: {part['filename']} ({part['mediaType']}). {why}]"}
