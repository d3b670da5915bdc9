"""The client for asyncio. It does the I/O that `Reading` asks for and decides nothing."""

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2

from turnkeep_client.limits import Limits
from turnkeep_client.reading import Reading
from turnkeep_client.run import RunView, answering, asking, deciding, resuming, say_steps, steering, stop_steps
from turnkeep_client.steps import Effect, Event, Pause, Read, ReadAll, Reply, Send

Told = TypeVar("Told")


class AsyncClient:
    """Asks a Turnkeep server.

    async with AsyncClient("http://127.0.0.1:8000") as client:
        async for event in client.ask("What is a slice?"):
            print(event.text, end="")

    One client is one session: it keeps the cookie that makes its conversations its own. `http` is for what httpx2 can do and
    this class does not name, headers and proxies for example; its base address and timeouts then count.
    """

    def __init__(
        self, base_url: str = "", *, limits: Limits | None = None, http: httpx2.AsyncClient | None = None
    ) -> None:
        self._limits = limits or Limits()
        timeout = httpx2.Timeout(self._limits.silence, connect=self._limits.connect)
        self._http = http or httpx2.AsyncClient(base_url=base_url, timeout=timeout)

    def ask(self, text: str, **fields: str) -> "AsyncRun":
        """Ask, and read the answer while it is made. `fields`: conversation_id, assistant, run_id (a UUID), all optional.

        Nothing is sent before the run is iterated.
        """
        return AsyncRun(asking(text, fields, self._limits), self._http)

    async def ask_json(self, text: str, **fields: str) -> "AsyncRun":
        """Ask, wait for the whole answer in one piece and return the run, at its end. Raises ClientError."""
        run = AsyncRun(asking(text, fields, self._limits, whole=True), self._http)
        async for _ in run:
            pass
        return run

    def resume(self, saved: dict[str, Any] | str, next_index: int = 0) -> "AsyncRun":
        """Go on reading a run: from a `snapshot()`, or from a handle and the index of the next frame."""
        return AsyncRun(resuming(saved, next_index, self._limits), self._http)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncRun(RunView):
    """A run to iterate, once: its frames in order, each exactly once, whatever happens to the connection.

    Raises ClientError (see `turnkeep_client.errors`) where the end cannot be reached; `snapshot()` is then still good.
    """

    def __init__(self, reading: Reading, http: httpx2.AsyncClient) -> None:
        super().__init__(reading)
        self._http = http

    async def __aiter__(self) -> AsyncIterator[Event]:
        async with aclosing(_Wire(self._http)) as wire:
            steps, answer = self._reading.steps(), None
            while True:
                try:
                    step = steps.send(answer)
                except StopIteration:
                    return
                if isinstance(step, Event):
                    yield step
                    answer = None
                else:
                    answer = await wire.do(step)

    async def stop(self) -> bool:
        """Stop the run itself, for everyone. The frames that settle it still arrive. Returns whether it was confirmed."""
        return await self._tell(stop_steps(self._reading))

    async def approve(self, call: str, reason: str = "") -> None:
        """Let a call be made that waits for approval: `call` is its `toolCallId`, which is its `approvalId` too.

        Returns once the server recorded it; of two decisions on a call the first counts. What follows from it arrives as
        frames. Raises Refused (a run that has ended takes no more), Unreachable.
        """
        await self._tell(say_steps(self._reading, deciding(call, approved=True, reason=reason)))

    async def deny(self, call: str, reason: str = "") -> None:
        """Do not let it be made; the model is told why. As `approve`."""
        await self._tell(say_steps(self._reading, deciding(call, approved=False, reason=reason)))

    async def answer(self, call: str, text: str) -> None:
        """Answer a question: the text becomes the call's output. As `approve`."""
        await self._tell(say_steps(self._reading, answering(call, text)))

    async def steer(self, text: str) -> None:
        """Say something while the run is at work: the model hears it with its next request. As `approve`."""
        await self._tell(say_steps(self._reading, steering(text)))

    async def _tell(self, steps: Generator[Effect, Any, Told]) -> Told:
        async with aclosing(_Wire(self._http)) as wire:
            done = None
            while True:
                try:
                    done = await wire.do(steps.send(done))
                except StopIteration as stop:
                    told: Told = stop.value
                    return told


class _Wire:
    """One connection at a time."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http
        self._reply: httpx2.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None

    async def do(self, effect: Effect) -> Any:
        match effect:
            case Send():
                return await self._send(effect)
            case Read():
                return await self._read()
            case Pause(seconds=seconds):
                await self.aclose()
                await asyncio.sleep(seconds)
                return None
            case ReadAll():
                return await self._read_all()

    async def _send(self, effect: Send) -> Reply | None:
        await self.aclose()
        request = self._http.build_request(effect.method, effect.path, params=effect.query, json=effect.json)
        try:
            self._reply = await self._http.send(request, stream=True)
        except httpx2.TransportError:
            return None
        self._chunks = self._reply.aiter_bytes()
        return Reply(self._reply.status_code, self._reply.headers)

    async def _read(self) -> bytes | None:
        try:
            return await anext(self._chunks, None) if self._chunks else None
        except httpx2.RequestError:
            return None

    async def _read_all(self) -> bytes | None:
        try:
            return await self._reply.aread() if self._reply else None
        except httpx2.RequestError:
            return None

    async def aclose(self) -> None:
        if self._reply is not None:
            await self._reply.aclose()
        self._reply = self._chunks = None
