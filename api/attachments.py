"""Files that messages attach: taken in by their own route, or with the message that brings them along.

In a chat body, a `file` part names a file by the address that the upload gave, or holds it as a `data:` URL. Both become the
same reference before anything is written: neither a log nor a stored message ever has the bytes.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote_to_bytes

from api.errors import not_found
from api.media import TYPES, media_type_of, name_of
from api.ports import ApiParts
from protocol.errors import TurnkeepError
from protocol.json import JsonObject
from records.files import File, Upload

ADDRESS: Final = "/api/files/"
MOST_FILES: Final = 10  # of one message
FILE_ID: Final = re.compile(r"file_[0-9a-f]{32}", re.ASCII)
_URL: Final = re.compile(rf"(?:https?://[^/?#]+)?{ADDRESS}(file_[0-9a-f]{{32}})", re.ASCII)


class Attachments:
    """The files of owners. `owner` is (tenant, owner)."""

    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts

    async def keep(self, owner: tuple[str, str], content: bytes, name: str) -> tuple[File, bool]:
        """The file of these bytes, and whether it is new.

        Raises:
            TurnkeepError: `too_large`; `invalid`, with code `media_type`, where it is nothing that may be attached.
        """
        limits = self._parts.limits
        if len(content) > limits.file_bytes:
            raise too_large(limits.file_bytes)
        media_type = media_type_of(content)
        if media_type is None:
            raise TurnkeepError("invalid", f"A file is one of {', '.join(TYPES)}.", details={"code": "media_type"})
        tenant, name_of_owner = owner
        upload = Upload(
            tenant=tenant,
            owner=name_of_owner,
            media_type=media_type,
            name=name_of(name),
            content=content,
            now_ms=self._parts.clock.now_ms(),
        )
        return await self._parts.records.files.keep(upload, limits.files_bytes)

    async def take(self, owner: tuple[str, str], given: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
        """The `file` parts of a message as they are stored.

        Raises:
            TurnkeepError: `invalid`, `too_large`; `not_found` for a file that is not the owner's.
        """
        if len(given) > MOST_FILES:
            raise TurnkeepError("invalid", f"A message may have at most {MOST_FILES} files.")
        named = [await self._id(owner, part) for part in given]
        found = await self._parts.records.files.find(*owner, set(named)) if named else {}
        if len(found) < len(set(named)):
            raise not_found()
        return tuple(_part(found[file_id], part) for file_id, part in zip(named, given, strict=True))

    async def _id(self, owner: tuple[str, str], part: JsonObject) -> str:
        url = part.get("url")
        if not isinstance(url, str):
            raise TurnkeepError("invalid", "A file part has a url.")
        if url[:5].lower() == "data:":
            return (await self.keep(owner, _decoded(url), _filename(part) or "file"))[0].id
        ours = _URL.fullmatch(url)
        if ours is None:
            raise TurnkeepError("invalid", f"A file part has the url of an upload ({ADDRESS}…), or a data: URL.")
        return ours[1]


def file_id_of(part: JsonObject) -> str:
    """The file that a stored part attaches."""
    return str(part["url"]).removeprefix(ADDRESS)


def too_large(most: int) -> TurnkeepError:
    """More bytes than a file may have."""
    return TurnkeepError("too_large", f"A file may have at most {most} bytes.")


def shown(file: File) -> JsonObject:
    """The part that attaches a file."""
    return {"type": "file", "mediaType": file.media_type, "filename": file.name, "url": ADDRESS + file.id}


def _part(file: File, given: JsonObject) -> JsonObject:
    name = _filename(given)
    return shown(file) | ({"filename": name_of(name)} if name else {})


def _filename(part: JsonObject) -> str:
    name = part.get("filename") or part.get("name")  # "name" in older SDKs
    return name if isinstance(name, str) else ""


def _decoded(url: str) -> bytes:
    head, comma, data = url.partition(",")
    if not comma:
        raise _no_data()
    try:
        content = unquote_to_bytes(data)
        return base64.b64decode(content, validate=True) if head.lower().endswith(";base64") else content
    except (binascii.Error, ValueError):
        raise _no_data() from None


def _no_data() -> TurnkeepError:
    return TurnkeepError("invalid", "A data: URL cannot be read.")
