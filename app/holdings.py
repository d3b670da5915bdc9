"""What a worker process holds, told to the process that started it: when it dies, that one gives it back (C15).

It is told in lines through an inherited pipe, one verb and its words:

    begun TOKEN RUN             an activity is executed here; TOKEN is its task token in base64
    claimed RUN ATTEMPT OWNER   the grip that some executor here has on the run
    ended TOKEN                 the activity is over, however it went
    alive                       its loop turns

The teller never waits. A line that finds the pipe full is lost, and what it told is then given back as if nobody had been
told: the lease lapses and the heartbeat stays away. What is told of a dead process may be old; giving back what somebody
else holds by now is refused by those who keep it.
"""

import asyncio
import base64
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from checkpoints.port import Grip

BEAT_SECONDS: Final = 1.0


class Report:
    """The teller's end. Lines are far shorter than a pipe takes in one piece, so none is ever torn."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor

    def begun(self, token: bytes, run_id: str) -> None:
        self._tell("begun", base64.b64encode(token).decode(), run_id)

    def claimed(self, grip: Grip) -> None:
        self._tell("claimed", grip.run_id, str(grip.attempt), grip.owner)

    def ended(self, token: bytes) -> None:
        self._tell("ended", base64.b64encode(token).decode())

    async def beat(self) -> None:
        """Say that the loop turns, again and again: a process that hangs with all its turns is as good as dead."""
        while True:
            self._tell("alive")
            await asyncio.sleep(BEAT_SECONDS)

    def _tell(self, *words: str) -> None:
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._descriptor, (" ".join(words) + "\n").encode())


@dataclass(frozen=True, slots=True)
class Held:
    """One activity of the process, by its task token, and the grip on its run where there was one already."""

    token: bytes
    grip: Grip | None


class Holdings:
    """The listener's end: what is held at this moment."""

    def __init__(self) -> None:
        self._runs: dict[bytes, str] = {}
        self._grips: dict[str, Grip] = {}
        self._rest = b""

    def __iter__(self) -> Iterator[Held]:
        return iter([Held(token, self._grips.get(run_id)) for token, run_id in self._runs.items()])

    def hear(self, piece: bytes) -> None:
        """Take in what came through the pipe, wherever it was cut. A line that makes no sense is passed over."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            with suppress(ValueError):
                self._learn(line.decode())

    def _learn(self, line: str) -> None:
        match line.split(" "):
            case ["begun", token, run_id]:
                self._runs[base64.b64decode(token, validate=True)] = run_id
            case ["claimed", run_id, attempt, owner]:
                self._grips[run_id] = Grip(run_id, int(attempt), owner)
            case ["ended", token]:
                run_id = self._runs.pop(base64.b64decode(token, validate=True), "")
                if (
                    run_id not in self._runs.values()
                ):  # else another activity of the run is at work, in the same process
                    self._grips.pop(run_id, None)
            case ["alive"]:
                pass
            case _:
                raise ValueError("no line of a report")
