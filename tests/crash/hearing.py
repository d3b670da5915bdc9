"""What the processes of a suite tell it: that they are there, that a run stands still in them, and what they are asked for."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Held:
    """A run that stands still at its point, in this process, until `line` is closed."""

    pid: int
    line: asyncio.StreamWriter


class Hearing:
    """Everything that was heard so far."""

    def __init__(self) -> None:
        self.up: dict[str, asyncio.Event] = defaultdict(asyncio.Event)  # by process: it can be used
        self.gave: dict[str, asyncio.Event] = defaultdict(
            asyncio.Event
        )  # by supervisor: it gave back what a dead worker held
        self.counted: asyncio.Queue[int] = asyncio.Queue()  # tasks
        self._pids: dict[str, int] = {}  # of those who work; their supervisors are the children then
        self._held: dict[str, asyncio.Queue[Held]] = defaultdict(asyncio.Queue)
        self._passing: set[str] = set()  # runs that are held nowhere any more

    def of(self, pid: int) -> str:
        """The process's name."""
        return next((name for name, known in self._pids.items() if known == pid), "")

    def pid(self, name: str) -> int:
        return self._pids[name]

    async def held(self, run_id: str) -> Held:
        """Wait until the run stands at its point."""
        return await self._held[run_id].get()

    def forget(self, run_id: str) -> None:
        """What is heard of the run's standing from now on is another time."""
        self._held.pop(run_id, None)

    def let_pass(self, run_id: str) -> None:
        """Whoever comes to its place from now on goes past it."""
        self._passing.add(run_id)
        waiting = self._held.pop(run_id, None)
        while waiting is not None and not waiting.empty():
            waiting.get_nowait().line.close()

    async def hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One line to the suite: a process that starts, a run that stands still, or a number that was asked for."""
        kind, name, number = (await reader.readline()).decode().split()
        if kind == "held" and name not in self._passing:
            self._held[name].put_nowait(Held(int(number), writer))
            return
        if kind == "tasks":
            self.counted.put_nowait(int(number))
        elif kind == "gave":
            self.gave[name].set()
        elif kind == "ready":
            self._pids[name] = int(number)
            if await reader.read(1):
                self.up[name].set()
        writer.close()
