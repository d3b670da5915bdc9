"""`make soak SECONDS=600`: many slow turns at once while something is killed every few seconds; then nothing may be left over.

One worker and one API process are spared, so that there is somebody whose tasks, files and memory can be compared with what
they were before. Everything else dies again and again.
"""

import argparse
import asyncio
import random
import sqlite3
import statistics
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx2

from tests.crash.cases import Case
from tests.crash.points import NOWHERE, Place
from tests.crash.properties import violations
from tests.crash.turn import Turn
from tests.crash.world import World, world

SPARED: Final = ("worker-0", "api-0")
TURN: Final = Case(turn="long", hit="worker", place=Place(NOWHERE, 0))
KILL_SECONDS: Final = 4.0
SAMPLE_SECONDS: Final = 1.0
DRAIN_SECONDS: Final = 90.0  # after the last turn began, to the end of all and of what was held for them
GROWTH_BYTES: Final = 1_000_000  # a minute, in the second half
LONG_ENOUGH_SECONDS: Final = 240  # for memory to say anything: before, caches and pools are still filling


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a process holds."""

    tasks: int
    files: int


@dataclass(kw_only=True)
class Soak:
    """One soak. `wrong` is what it found."""

    world: World
    client: httpx2.AsyncClient
    chance: random.Random
    together: int
    turns: int = 0
    lost: int = 0
    kills: int = 0
    wrong: list[str] = field(default_factory=list)
    memory: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in SPARED})

    async def run(self, seconds: float) -> None:
        """Soak, drain, compare."""
        await asyncio.gather(*(self._turn() for _ in range(self.together)))  # so that pools are as large as they get
        before = {name: await self._holdings(name) for name in SPARED}
        until = time.monotonic() + seconds
        lanes = [asyncio.create_task(self._lane(number, until)) for number in range(self.together)]
        # They end by themselves: a kill that is cut short would leave a server dead.
        await asyncio.gather(self._kill(until), self._sample(until))
        ended, unended = await asyncio.wait(lanes, timeout=DRAIN_SECONDS)
        self.wrong += [f"{len(unended)} turns did not end"] if unended else []
        for lane in unended:
            lane.cancel()
        for lane in ended:
            lane.result()
        await self._compare(before, seconds)

    async def _lane(self, number: int, until: float) -> None:
        """One turn after the other."""
        await asyncio.sleep(number * 10 / self.together)  # so that they do not all begin at once
        while time.monotonic() < until:
            await self._turn()

    async def _turn(self) -> None:
        turn = Turn(
            case=TURN,
            world=self.world,
            client=self.client,
            chance=random.Random(self.chance.getrandbits(64)),
            planned=False,
        )
        await turn.read()
        self.turns += 1
        if turn.lost or turn.readers[0].memory:  # on the memory log of its process, which promises nothing beyond it
            self.lost += turn.lost
        elif found := await violations(turn):
            self.wrong += found

    async def _kill(self, until: float) -> None:
        while time.monotonic() < until:
            await asyncio.sleep(KILL_SECONDS)
            victims = [name for role in ("worker", "api") for name in self.world.names(role) if name not in SPARED]
            victim = self.chance.choice([*victims, *victims, "valkey", "temporal"])
            await self.world.ready()
            match victim:
                case "valkey":
                    await self.world.kill_valkey(lambda: None)
                case "temporal":
                    await self.world.kill_temporal(lambda: None)
                case name:
                    self.world.kill(name)
            self.kills += 1

    async def _sample(self, until: float) -> None:
        while time.monotonic() < until:
            for name in SPARED:
                self.memory[name].append(self.world.usage(name).memory_info().rss)
            await asyncio.sleep(SAMPLE_SECONDS)

    async def _holdings(self, name: str) -> Holdings:
        return Holdings(await self.world.tasks(name), self.world.usage(name).num_fds())

    async def _compare(self, before: dict[str, Holdings], seconds: float) -> None:
        await self.client.aclose()  # idle connections are ours, not theirs
        give_up = time.monotonic() + DRAIN_SECONDS
        after = before
        while time.monotonic() < give_up:
            after = {name: await self._holdings(name) for name in SPARED}
            if all(after[name].tasks <= one.tasks and after[name].files <= one.files for name, one in before.items()):
                break
            await asyncio.sleep(SAMPLE_SECONDS)
        else:
            self.wrong.append(f"held before {before}, and after {after}")
        if left := _unfinished(self.world.folder / "records.sqlite3"):
            self.wrong.append(f"{left} runs are not ended in the records")
        if seconds >= LONG_ENOUGH_SECONDS:
            self.wrong += [
                f"{name} grows by {by / 1e6:.1f} MB a minute" for name, by in self.growth.items() if by > GROWTH_BYTES
            ]

    @property
    def growth(self) -> dict[str, float]:
        """Bytes a minute of each spared process over the second half."""
        return {
            name: _slope(samples[len(samples) // 2 :]) * 60 / SAMPLE_SECONDS for name, samples in self.memory.items()
        }


def _slope(samples: list[int]) -> float:
    return statistics.linear_regression(range(len(samples)), samples).slope if len(samples) > 1 else 0.0


def _unfinished(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM runs WHERE ended_ms IS NULL AND NOT memory").fetchone()
    return int(count)


async def soak(seconds: float, seed: str, together: int) -> Soak:
    """Soak a fresh world."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    with TemporaryDirectory(prefix="soak-") as folder:
        async with (
            world(Path(folder), workers=3, apis=3) as made,
            httpx2.AsyncClient(timeout=60, limits=limits) as client,
        ):
            soaking = Soak(world=made, client=client, chance=random.Random(seed), together=together)
            await soaking.run(seconds)
            return soaking


def main() -> int:
    """Soak and say what was found. 1 where something was."""
    parser = argparse.ArgumentParser(prog="make soak")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", default="soak")
    parser.add_argument("--together", type=int, default=200)
    arguments = parser.parse_args()
    done = asyncio.run(soak(arguments.seconds, arguments.seed, arguments.together))
    growth = ", ".join(f"{name} {by / 1e6:+.2f} MB a minute" for name, by in done.growth.items())
    lines = [f"{done.turns} turns, {done.kills} kills, {done.lost} lost with a memory log; {growth}", *done.wrong[:50]]
    sys.stdout.write("\n".join([*lines, f"{len(done.wrong)} wrong", ""]))
    return int(bool(done.wrong))


if __name__ == "__main__":
    sys.exit(main())
