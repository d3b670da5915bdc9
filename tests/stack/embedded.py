"""The embedded stack as a person starts it, `python -m app dev`, in a folder of the test's own."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx2
import psutil

from app.compose_assistants import OUTBOX
from app.stack import leash
from frames.sse import Parser

ROOT = Path(__file__).parents[2]
SECONDS = 60.0  # for anything: two cores may be shared with other tests
LOOK_SECONDS = 0.05
FIFTH = 5  # the run is under way by then, and far from its end


@dataclass(frozen=True, slots=True)
class Answer:
    """A stream as far as it was read: to its end, until the server cut it, or until we left."""

    handle: str
    transport: str
    frames: tuple[dict[str, Any], ...]
    how: Literal["ended", "cut", "left"]


class Stack:
    """One start after the other in the same folder, with these settings. It dies with the tests, however they end."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self._settings = settings
        self.client = httpx2.Client(timeout=SECONDS)
        self._process: subprocess.Popen[str] | None = None
        self._lines: list[str] = []
        self._said = threading.Condition()

    @property
    def command(self) -> tuple[str, ...]:
        return (sys.executable, "-I", "-S", str(leash.__file__), str(os.getpid()), sys.executable, "-m", "app", "dev")

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "TURNKEEP_STATE_DIR": str(self.folder), **self._settings}

    @property
    def url(self) -> str:
        return str(self.client.base_url).rstrip("/")

    @property
    def output(self) -> str:
        return "\n".join(self._lines)

    @property
    def process(self) -> psutil.Process:
        assert self._process is not None
        return psutil.Process(self._process.pid)

    def start(self) -> None:
        """Start it and return when it answers."""
        self._lines.clear()
        self._process = subprocess.Popen(
            self.command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._listener = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._listener.start()
        line = self.says("Turnkeep answers at")
        self.client.base_url = httpx2.URL(next(word for word in line.split() if word.startswith("http")))

    def says(self, text: str, times: int = 1) -> str:
        """Wait until it has said this so often; the line."""

        def said() -> list[str]:
            return [line for line in self._lines if text in line]

        with self._said:
            assert self._said.wait_for(lambda: len(said()) >= times, SECONDS), f"not said: {text}\n{self.output}"
            return said()[times - 1]

    def parts(self, name: str) -> list[psutil.Process]:
        """The processes of a part: "valkey-server", "temporal", or the command of ours."""
        return [child for child in self.process.children() if _is(child, name)]

    def kill(self, name: str) -> None:
        """As a crash does it; all of that name."""
        parts = self.parts(name)
        assert parts, f"there is no {name}"
        for part in parts:
            part.kill()

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Tell it to stop, and wait. The exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        code = self._process.wait(SECONDS)
        self._listener.join(SECONDS)  # its output ends with the last part that held it
        self._process = None
        return code

    def crash(self) -> list[psutil.Process]:
        """Kill the supervisor. The parts that outlived it."""
        parts = self.process.children()
        self.stop(signal.SIGKILL)
        _, alive = psutil.wait_procs(parts, SECONDS)
        return alive

    def command_line(self, *words: str) -> str:
        """Run `python -m app …` beside the stack. What it printed; it must succeed."""
        command = (sys.executable, "-m", "app", *words)
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def variables(self) -> dict[str, str]:
        """What its parts were started with: addresses and secrets."""
        known: dict[str, str] = json.loads((self.folder / "environment.json").read_text())
        return known

    @property
    def operator(self) -> dict[str, str]:
        """The header that opens /internal."""
        return {"authorization": f"Bearer {self.variables['INTERNAL_API_TOKEN']}"}

    def notes(self, run_id: str) -> list[str]:
        """The calls of a run that had an effect, as often as they had it."""
        path = self.folder / OUTBOX
        lines = path.read_text().splitlines() if path.exists() else []
        return [key for key in (json.loads(line)["key"] for line in lines) if key.startswith(run_id)]

    def switch(self, value: object) -> None:
        """Set the switch by HTTP. It is in force in the API process when this returns."""
        answer = self.client.put("/internal/dispatch", json={"switch": value}, headers=self.operator)
        assert answer.status_code == 200, answer.text

    def until_dispatch(self, **expected: object) -> None:
        """Wait until the API's view of switch and breaker holds this."""

        def holds() -> bool:
            answer = self.client.get("/internal/dispatch", headers=self.operator)
            return bool(expected.items() <= answer.json().items())

        self.until(holds, str(expected))

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Look until it holds: nothing tells when another process has come so far."""
        deadline = time.monotonic() + SECONDS
        with self._said:
            while not holds():
                assert time.monotonic() < deadline, what
                self._said.wait(LOOK_SECONDS)

    def ask(self, text: str, *, leave_after: int | None = None, then: Callable[[], object] = bool) -> Answer:
        """Ask and read the answer: all of it, or so many frames. `then` is called with the fifth frame."""
        with self.client.stream("POST", "/api/chat", json={"message": text}) as response:
            return _read(response, leave_after, then)

    def resume(self, answer: Answer, *, start: int) -> Answer:
        """Come back to an answer."""
        with self.client.stream("GET", f"/api/chat/{answer.handle}/stream", params={"startIndex": start}) as response:
            return _read(response, None, bool)

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as output:
            for line in output:
                with self._said:
                    self._lines.append(line.rstrip())
                    self._said.notify_all()


@contextmanager
def running_stack(folder: Path, **settings: str) -> Iterator[Stack]:
    """A started stack, killed at the end if it still runs."""
    stack = Stack(folder, **settings)
    try:
        stack.start()
        yield stack
    finally:
        if stack._process is not None:
            stack.crash()
        stack.client.close()


def _read(response: httpx2.Response, leave_after: int | None, then: Callable[[], object]) -> Answer:
    assert response.status_code == 200, response.read()
    frames: list[dict[str, Any]] = []
    how: Literal["ended", "cut", "left"] = "left"
    try:
        for data in _events(response):
            if data == "[DONE]":
                how = "ended"
                break
            frames.append(json.loads(data))
            if len(frames) == FIFTH:
                then()
            if len(frames) == leave_after:
                break
    except httpx2.RemoteProtocolError:
        how = "cut"
    headers = response.headers
    return Answer(headers["x-workflow-run-id"], headers.get("x-turnkeep-transport", ""), tuple(frames), how)


def _events(response: httpx2.Response) -> Iterator[str]:
    parser = Parser()
    for piece in response.iter_raw():
        yield from (event.data for event in parser.feed(piece))


def _is(process: psutil.Process, name: str) -> bool:
    return process.status() != psutil.STATUS_ZOMBIE and (process.name() == name or name in process.cmdline())
