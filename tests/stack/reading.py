"""Readers of a run over HTTP that keep its frames as the bytes that arrived."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from tests.stack.embedded import SECONDS, Stack


class FrameReader:
    """One response. Iterate it for the frames as bytes, again to go on; `done` says that it was closed properly."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.comments = 0
        self.done = False
        self._frames = self._read()

    @property
    def handle(self) -> str:
        return self.response.headers["x-workflow-run-id"]

    @property
    def transport(self) -> str:
        return self.response.headers["x-turnkeep-transport"]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._frames

    async def rest(self) -> list[bytes]:
        """All further frames. The stream must end properly."""
        pieces = [piece async for piece in self]
        assert self.done, pieces[-1:]
        return pieces

    async def _read(self) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in self.response.aiter_raw():
            *pieces, rest = (rest + chunk).split(b"\n\n")
            for piece in pieces:
                if piece.startswith(b":"):
                    self.comments += 1
                elif piece == b"data: [DONE]":
                    self.done = True
                else:
                    yield piece + b"\n\n"


@asynccontextmanager
async def visitor(stack: Stack) -> AsyncIterator[httpx2.AsyncClient]:
    """Somebody new with a session of their own, who may have as many streams open as they like."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
    async with httpx2.AsyncClient(base_url=stack.url, timeout=SECONDS, limits=limits) as client:
        await client.get("/api/conversations")
        yield client


@asynccontextmanager
async def asking(client: httpx2.AsyncClient, message: str, **body: str) -> AsyncIterator[FrameReader]:
    """The answer to a message."""
    async with reading(client, "POST", "/api/chat", json={"message": message, **body}) as reader:
        yield reader


@asynccontextmanager
async def reading(client: httpx2.AsyncClient, method: str, url: str, **request: Any) -> AsyncIterator[FrameReader]:
    """The stream that a request gives."""
    async with client.stream(method, url, **request) as response:
        assert response.status_code == 200, await response.aread()
        yield FrameReader(response)
