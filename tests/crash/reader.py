"""A reader as clients are: it is cut off, leaves, comes back at any index to any process, and keeps what it saw.

What it saw is the bytes of every frame by index. An index that arrives twice must arrive with the same bytes.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import httpx2

PAUSE_SECONDS: Final = 0.02  # before it comes back, as clients wait
OVERLAP: Final = 3  # frames that it asks for again


@dataclass(kw_only=True)
class Reader:
    """Reads one run to its end, however often it is cut. `handle` is known once the turn was accepted."""

    client: httpx2.AsyncClient
    addresses: dict[str, str]
    chance: random.Random
    cookie: str
    handle: str = ""
    frames: list[bytes] = field(default_factory=list)
    times: list[float] = field(default_factory=list)  # when each frame came first
    wrong: list[str] = field(default_factory=list)
    memory: bool = False  # the run lives in the process that answered, and can be read nowhere else (C6)
    gone: bool = False  # it has ended and its log is nowhere: there is nothing to come back for
    at: str = ""  # the process it reads from at the moment
    refused: str = ""  # the last answer that was no stream
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ended(self) -> bool:
        return bool(self.frames) and b"\nevent: finish\n" in self.frames[-1]

    async def ask_and_read(self, body: dict[str, str]) -> None:
        """Ask, again and again until it is taken, and read to the end; of a memory run, what its process gives."""
        while not (self.handle or self.memory or self.gone or self.ended):
            with suppress(httpx2.TransportError):
                await self._open("POST", "/api/chat", json=body, leave=None)
            await asyncio.sleep(PAUSE_SECONDS)
        if self.handle:
            await self.read()

    async def wait_for_handle(self) -> None:
        """Wait until the turn was taken."""
        while not (self.handle or self.memory or self.gone or self.ended):
            self.news.clear()
            await self.news.wait()

    async def read(self) -> None:
        """Read until the end, coming back as often as it takes."""
        while not (self.ended or self.gone):
            start = max(0, len(self.frames) - self.chance.randint(0, OVERLAP))
            leave = self.chance.choice((None, self.chance.randint(1, 12)))
            with suppress(httpx2.TransportError):
                await self._open("GET", f"/api/chat/{self.handle}/stream?startIndex={start}", leave=leave)
            await asyncio.sleep(PAUSE_SECONDS)

    async def wait_for_news(self, known: int) -> None:
        """Wait until more than so many frames were seen, or all."""
        while len(self.frames) <= known and not self.ended:
            self.news.clear()
            await self.news.wait()

    async def _open(self, method: str, path: str, *, leave: int | None, json: dict[str, str] | None = None) -> None:
        self.at = self.chance.choice(sorted(self.addresses))
        headers = {"cookie": self.cookie}
        async with self.client.stream(method, self.addresses[self.at] + path, json=json, headers=headers) as response:
            if response.status_code != httpx2.codes.OK:
                self.gone = response.status_code == httpx2.codes.GONE
                self.news.set()
                self.refused = f"{response.status_code} {(await response.aread()).decode()}"
                return
            self.handle = self.handle or response.headers.get("x-workflow-run-id", "")
            self.memory = not self.handle
            self.news.set()
            async for piece in _pieces(response):
                self._take(piece)
                leave = None if leave is None else leave - 1
                if leave == 0:
                    return

    def _take(self, piece: bytes) -> None:
        index = int(piece.partition(b"\n")[0].removeprefix(b"id: "))
        if index < len(self.frames):
            if self.frames[index] != piece:
                self._complain(f"frame {index} was {self.frames[index]!r} and is {piece!r}")
        elif index > len(self.frames):
            self._complain(f"frame {index} came after {len(self.frames) - 1}")
        else:
            self.frames.append(piece)
            self.times.append(time.monotonic())
            self.news.set()

    def _complain(self, what: str) -> None:
        if what not in self.wrong:
            self.wrong.append(what)


async def _pieces(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The frames of a response as they came, without comments and the closing word."""
    rest = b""
    async for chunk in response.aiter_raw():
        *pieces, rest = (rest + chunk).split(b"\n\n")
        for piece in pieces:
            if piece.startswith(b"id: "):
                yield piece + b"\n\n"
