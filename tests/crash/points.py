"""Named points inside a process under test, and how the suite holds a run at one.

A plan is a file named by its run: the point and the number of the pass. The first executor that comes there, in whatever
process, tells the suite through its socket and stands still until it is let go, or is killed where it stands. Every pass of
a planned run is written down, so that an undisturbed run tells what points there are. Runs without a plan cost nothing here.

A number counts the passes of a point over all processes; for the points around an append it is the index of a frame.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

SOCKET: Final = "control"
NOWHERE: Final = "nowhere"  # a plan that holds nothing and only writes the passes down


@dataclass(frozen=True, slots=True)
class Place:
    """A point and its number."""

    point: str
    number: int

    def __str__(self) -> str:
        return f"{self.point}:{self.number}"


class Plans:
    """The plans of a folder, as both sides see them."""

    def __init__(self, folder: Path) -> None:
        self.socket = str(folder / SOCKET)
        self._folder = folder

    def write(self, run_id: str, place: Place | None) -> None:
        """Plan a run before it is asked for. None: write down what it passes."""
        self._file(run_id, "plan").write_text(str(place or Place(NOWHERE, 0)))

    def again(self, run_id: str, place: Place) -> None:
        """Another place for a run whose first one is behind it; for processes that have not seen the run yet."""
        self.write(run_id, place)
        self._file(run_id, "taken").unlink(missing_ok=True)

    def read(self, run_id: str) -> Place | None:
        """The run's plan, None where it has none."""
        try:
            point, _, number = self._file(run_id, "plan").read_text().rpartition(":")
        except FileNotFoundError:
            return None
        return Place(point, int(number))

    def passed(self, run_id: str) -> list[Place]:
        """What the run came by, in order."""
        pairs = (line.rpartition(" ")[::2] for line in self._file(run_id, "passed").read_text().splitlines())
        return [Place(point, int(number)) for point, number in pairs]

    def note(self, run_id: str, point: str, number: int | None) -> int:
        """Write a pass down. Its number, counted where none is given."""
        path = self._file(run_id, "passed")
        if number is None:
            known = path.read_text().splitlines() if path.exists() else []
            number = 1 + sum(line.startswith(f"{point} ") for line in known)
        with path.open("ab", buffering=0) as file:
            file.write(f"{point} {number}\n".encode())
        return number

    def take(self, run_id: str) -> bool:
        """Whether this is the first to come to the run's place: one of all processes."""
        try:
            os.close(os.open(self._file(run_id, "taken"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def _file(self, run_id: str, kind: str) -> Path:
        return self._folder / f"{run_id}.{kind}"


class Points:
    """The points of one process."""

    def __init__(self, folder: Path) -> None:
        self._plans = Plans(folder)
        self._known: dict[str, Place | None] = {}

    def of(self, run_id: str) -> Callable[[str], Awaitable[None]]:
        """The `fault` of one run's parts."""
        return partial(self.passes, run_id)

    async def passes(self, run_id: str, point: str, frames: range | None = None) -> None:
        """A run comes by. `frames` are those of the append before or after which this is."""
        if run_id not in self._known:
            self._known[run_id] = self._plans.read(run_id)
        place = self._known[run_id]
        if place is None:
            return
        edge = None if frames is None else frames[-1] if point.endswith("after") else frames[0]
        number = self._plans.note(run_id, point, edge)
        hit = place.number == number if frames is None else place.number in frames
        if point == place.point and hit and self._plans.take(run_id):
            await self._stand_still(run_id)

    async def _stand_still(self, run_id: str) -> None:
        reader, writer = await asyncio.open_unix_connection(self._plans.socket)
        writer.write(f"held {run_id} {os.getpid()}\n".encode())
        await reader.read()  # it ends when the suite lets go
        writer.close()


def announce(folder: Path, name: str, kind: str, number: int) -> int:
    """Tell the suite something, with a socket that blocks. Its file descriptor, for what follows."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(str(folder / SOCKET))
    line.sendall(f"{kind} {name} {number}\n".encode())
    return line.detach()
