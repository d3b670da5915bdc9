"""The demo's side effect: notes appended to a file, one JSON object a line, each with the key of the call that sent it.

The key makes a repeated effect visible: two lines with one key are one call that was made twice. A line is written in one
piece, so that processes can share the file. Reads give an owner's own notes only.
"""

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What was sent, for whom, by which call."""

    key: str
    owner: str
    text: str


class Outbox:
    """Notes in the file at `path`, which is made with the first note."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def append(self, note: Note) -> int:
        """Add a note. Returns how many the owner has now."""
        return await asyncio.to_thread(self._append, note)

    async def notes(self, owner: str) -> list[Note]:
        """The owner's notes, oldest first."""
        return await asyncio.to_thread(lambda: [note for note in self._all() if note.owner == owner])

    def _append(self, note: Note) -> int:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(asdict(note)).encode() + b"\n"
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)
        return sum(known.owner == note.owner for known in self._all())

    def _all(self) -> Iterator[Note]:
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                yield Note(**json.loads(line))
