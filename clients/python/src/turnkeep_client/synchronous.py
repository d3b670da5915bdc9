"""The client for plain threads. It does the I/O that `Reading` asks for and decides nothing."""

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2

from turnkeep_client.limits import Limits
from turnkeep_client.reading import Reading
from turnkeep_client.run import RunView, answering, asking, deciding, resuming, say_steps, steering, stop_steps
from turnkeep_client.steps import Effect, Event, Pause, Read, ReadAll, Reply, Send

Told = TypeVar("Told")


class Client:
    """Asks a Turnkeep server. Everything is as in `AsyncClient`, without the awaiting.

    with Client("http://127.0.0.1:8000") as client:
        for event in client.ask("What is a slice?"):
            print(event.text, end="")
    """

    def __init__(self, base_url: str = "", *, limits: Limits | None = None, http: httpx2.Client | None = None) -> None:
        self._limits = limits or Limits()
        timeout = httpx2.Timeout(self._limits.silence, connect=self._limits.connect)
        self._http = http or httpx2.Client(base_url=base_url, timeout=timeout)

    def ask(self, text: str, **fields: str) -> "Run":
        """Ask, and read the answer while it is made. `fields`: conversation_id, assistant, run_id (a UUID), all optional.

        Nothing is sent before the run is iterated.
        """
        return Run(asking(text, fields, self._limits), self._http)

    def ask_json(self, text: str, **fields: str) -> "Run":
        """Ask, wait for the whole answer in one piece and return the run, at its end. Raises ClientError."""
        run = Run(asking(text, fields, self._limits, whole=True), self._http)
        for _ in run:
            pass
        return run

    def resume(self, saved: dict[str, Any] | str, next_index: int = 0) -> "Run":
        """Go on reading a run: from a `snapshot()`, or from a handle and the index of the next frame."""
        return Run(resuming(saved, next_index, self._limits), self._http)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Run(RunView):
    """A run to iterate, once: its frames in order, each exactly once, whatever happens to the connection.

    Raises ClientError (see `turnkeep_client.errors`) where the end cannot be reached; `snapshot()` is then still good.
    `stop` and what a person says may be called from another thread.
    """

    def __init__(self, reading: Reading, http: httpx2.Client) -> None:
        super().__init__(reading)
        self._http = http

    def __iter__(self) -> Iterator[Event]:
        with closing(_Wire(self._http)) as wire:
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
                    answer = wire.do(step)

    def stop(self) -> bool:
        """Stop the run itself, for everyone. The frames that settle it still arrive. Returns whether it was confirmed."""
        return self._tell(stop_steps(self._reading))

    def approve(self, call: str, reason: str = "") -> None:
        """Let a call be made that waits for approval: `call` is its `toolCallId`, which is its `approvalId` too.

        Returns once the server recorded it; of two decisions on a call the first counts. What follows from it arrives as
        frames. Raises Refused (a run that has ended takes no more), Unreachable.
        """
        self._tell(say_steps(self._reading, deciding(call, approved=True, reason=reason)))

    def deny(self, call: str, reason: str = "") -> None:
        """Do not let it be made; the model is told why. As `approve`."""
        self._tell(say_steps(self._reading, deciding(call, approved=False, reason=reason)))

    def answer(self, call: str, text: str) -> None:
        """Answer a question: the text becomes the call's output. As `approve`."""
        self._tell(say_steps(self._reading, answering(call, text)))

    def steer(self, text: str) -> None:
        """Say something while the run is at work: the model hears it with its next request. As `approve`."""
        self._tell(say_steps(self._reading, steering(text)))

    def _tell(self, steps: Generator[Effect, Any, Told]) -> Told:
        with closing(_Wire(self._http)) as wire:
            done = None
            while True:
                try:
                    done = wire.do(steps.send(done))
                except StopIteration as stop:
                    told: Told = stop.value
                    return told


class _Wire:
    """One connection at a time."""

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http
        self._reply: httpx2.Response | None = None
        self._chunks: Iterator[bytes] | None = None

    def do(self, effect: Effect) -> Any:
        match effect:
            case Send():
                return self._send(effect)
            case Read():
                return self._read()
            case Pause(seconds=seconds):
                self.close()
                time.sleep(seconds)
                return None
            case ReadAll():
                return self._read_all()

    def _send(self, effect: Send) -> Reply | None:
        self.close()
        request = self._http.build_request(effect.method, effect.path, params=effect.query, json=effect.json)
        try:
            self._reply = self._http.send(request, stream=True)
        except httpx2.TransportError:
            return None
        self._chunks = self._reply.iter_bytes()
        return Reply(self._reply.status_code, self._reply.headers)

    def _read(self) -> bytes | None:
        try:
            return next(self._chunks, None) if self._chunks else None
        except httpx2.RequestError:
            return None

    def _read_all(self) -> bytes | None:
        try:
            return self._reply.read() if self._reply else None
        except httpx2.RequestError:
            return None

    def close(self) -> None:
        if self._reply is not None:
            self._reply.close()
        self._reply = self._chunks = None
