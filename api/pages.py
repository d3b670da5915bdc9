"""The chat page: a directory of static files, held in memory.

Read once at start-up, so serving one is a look-up by name: no path is ever joined, none can leave the directory. Files have no
version in their names; browsers keep them but ask each time (`no-cache` with an entity tag), which costs a 304.
"""

import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response

SERVED: Final = frozenset({".html", ".js", ".mjs", ".css", ".svg", ".png", ".ico", ".woff2", ".webmanifest"})

# Everything comes from this origin and nothing inline runs: an answer that slips through the page's sanitiser stays text.
CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    headers: Mapping[str, str]


class Pages:
    """The files of one directory by their address; `index.html` answers for `/`."""

    def __init__(self, directory: Path | None) -> None:
        files = {} if directory is None else _files_of(directory)
        if "index.html" in files:
            files[""] = files["index.html"]
        self._files = files

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return name in self._files

    def answer(self, name: str, headers: Headers) -> Response:
        """The file called `name`, or 304 where the browser has it. Raises KeyError where there is none."""
        file = self._files[name]
        if file.headers["etag"] in headers.get("if-none-match", ""):
            return Response(status_code=304, headers=file.headers)
        return Response(file.content, headers=file.headers)


def _files_of(directory: Path) -> dict[str, _File]:
    return {
        path.relative_to(directory).as_posix(): _load(path)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.suffix in SERVED
    }


def _load(path: Path) -> _File:
    content = path.read_bytes()
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    text = kind.startswith("text/")
    return _File(
        content,
        {
            "content-type": f"{kind}; charset=utf-8" if text else kind,
            "cache-control": "no-cache",
            "etag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
            "content-security-policy": CONTENT_SECURITY_POLICY,
        },
    )
