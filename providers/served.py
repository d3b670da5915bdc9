"""Tools that the provider runs itself, and the sources that a text cites: what a reader is shown of them.

Pure. The blocks themselves stay in the history as they came; here they are only read.
"""

import json
import re
from collections.abc import Iterator

from protocol.json import Json, JsonObject
from protocol.model import Cited, ServedResult

MAX_SHOWN_BYTES = 65_536  # of a result: as much as a tool of ours may give

_RESULT = "_tool_result"
_CODE = re.compile(r"[a-z_]{1,40}")
_PAGE = re.compile(r"https?://[^\s<>\"]{1,2000}", re.ASCII)
_TITLE = 300  # characters


def is_served_result(block: JsonObject) -> bool:
    """Whether it answers a tool that the provider ran."""
    return str(block["type"]).endswith(_RESULT) and isinstance(block.get("tool_use_id"), str)


def served_result(block: JsonObject) -> ServedResult:
    """What a reader sees of it: no ciphertext, nothing too large, and no failure in the provider's words."""
    name = str(block["type"]).removesuffix(_RESULT)
    content = block.get("content")
    call = str(block["tool_use_id"])
    code = _failure(block, content)
    if code is not None:
        return ServedResult(id=call, name=name, error=f"The tool failed: {code}.")
    shown = _readable(content)
    size = len(json.dumps(shown))
    if size > MAX_SHOWN_BYTES:
        return ServedResult(id=call, name=name, output={"omitted": "too large to show", "bytes": size})
    return ServedResult(id=call, name=name, output=shown)


def cited(citation: Json) -> Iterator[Cited]:
    """The source a citation names, where it names one that can be shown."""
    if not isinstance(citation, dict):
        return
    url = next((one for one in (citation.get("url"), citation.get("source")) if _is_page(one)), "")
    title = next((one for one in (citation.get("title"), citation.get("document_title")) if isinstance(one, str)), "")
    media_type = "application/pdf" if citation.get("type") == "page_location" else "text/plain"
    title = title.strip()[:_TITLE]
    if url or title:
        yield Cited(title=title, url=str(url), media_type=media_type)


def _is_page(value: Json) -> bool:
    return isinstance(value, str) and _PAGE.fullmatch(value) is not None


def _failure(block: JsonObject, content: Json) -> str | None:
    """The code of its error, None where it is none."""
    inner = content if isinstance(content, dict) else {}
    if block.get("is_error") is not True and not str(inner.get("type", "")).endswith("_error"):
        return None
    code = inner.get("error_code")
    return code.replace("_", " ") if isinstance(code, str) and _CODE.fullmatch(code) else "unavailable"


def _readable(value: Json) -> Json:
    if isinstance(value, list):
        return [_readable(one) for one in value]
    if isinstance(value, dict):
        return {key: _readable(one) for key, one in value.items() if not key.startswith("encrypted")}
    return value
