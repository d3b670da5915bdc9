"""`make soak SECONDS=600`: many slow turns at once while something is killed every few seconds; then nothing may be left over.

One worker and one API process are spared, so that there is somebody whose tasks, files and memory can be compared with what
they were before. Everything else dies again and again. A table at the end says what was asked for and what was seen.

With the default length it takes fifteen minutes at most.
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
TURN_SECONDS: Final = 60.0  # of an undisturbed turn
DRAIN_SECONDS: Final = 110.0  # after the last turn began: its own time, and the bound within which every run ends
REST_SECONDS: Final = 20.0  # for connections that nobody uses to be closed
RESTS: Final = 7  # samples: a server closes them after five seconds
GROWTH_BYTES: Final = 1_000_000  # a minute, in the second half
SHOWN: Final = 50
LONG_ENOUGH_SECONDS: Final = 240  # for memory to say anything: before, caches and pools are still filling


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a process holds."""

    tasks: int
    files: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """One line of the table."""

    what: str
    wanted: str
    seen: str
    good: bool

    def __str__(self) -> str:
        return f"{'ok' if self.good else 'WRONG':5}  {self.what:38}  {self.wanted:>16}  {self.seen}"


@dataclass(kw_only=True)
class Soak:
    """One soak. `wrong` is what its turns violated, `verdicts` the table."""

    world: World
    client: httpx2.AsyncClient
    chance: random.Random
    together: int
    turns: int = 0
    in_memory: int = 0
    lost: int = 0
    kills: int = 0
    wrong: list[str] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    under_way: dict[str, Turn] = field(default_factory=dict)
    memory: dict[str, list[tuple[float, int]]] = field(default_factory=lambda: {name: [] for name in SPARED})

    async def run(self, seconds: float) -> None:
        """Soak, drain, compare."""
        await self._fill()
        before = await self._rested()
        until = time.monotonic() + seconds
        lanes = [asyncio.create_task(self._lane(number, until)) for number in range(self.together)]
        # They end by themselves: a kill that is cut short would leave a server dead.
        await asyncio.gather(self._kill(until), self._sample(until))
        ended, unended = await asyncio.wait(lanes, timeout=DRAIN_SECONDS)
        standing = [_standing(turn) for turn in self.under_way.values()]
        self.wrong += standing
        for lane in unended:
            lane.cancel()
        await asyncio.gather(*unended, return_exceptions=True)
        for lane in ended:
            lane.result()
        self._judge("turns without an end for their readers", "0", len(unended), good=not unended)
        self._judge("other violations", "0", len(self.wrong) - len(standing), good=len(self.wrong) == len(standing))
        await self._compare(before, seconds)

    async def _fill(self) -> None:
        """Let those that are spared carry everything alone, on both transports: pools and heaps are as large as they get then.

        Python and the C library keep what the most turns at once have taken. That is no growth, and would look like it.
        """
        async with self.world.without(self._mortal), _client() as client:
            for durable in (False, True):
                await self.world.switch(on=durable)
                await asyncio.gather(*(self._made(client).read() for _ in range(self.together)))

    @property
    def _mortal(self) -> list[str]:
        return [name for role in ("worker", "api") for name in self.world.names(role) if name not in SPARED]

    def _judge(self, what: str, wanted: str, seen: object, *, good: bool) -> None:
        self.verdicts.append(Verdict(what, wanted, str(seen), good))

    def _made(self, client: httpx2.AsyncClient) -> Turn:
        chance = random.Random(self.chance.getrandbits(64))
        return Turn(case=TURN, world=self.world, client=client, chance=chance, planned=False)

    async def _lane(self, number: int, until: float) -> None:
        """One turn after the other."""
        await asyncio.sleep(number * TURN_SECONDS / self.together)  # so that they neither begin nor end at once
        while time.monotonic() < until:
            await self._turn()

    async def _turn(self) -> None:
        turn = self._made(self.client)
        self.under_way[turn.run_id] = turn
        await turn.read()
        self.turns += 1
        if turn.lost or turn.readers[0].memory:  # on the memory log of its process, which promises nothing beyond it
            self.in_memory += 1
            self.lost += turn.lost
        else:
            self.wrong += await violations(turn)
        del self.under_way[turn.run_id]

    async def _kill(self, until: float) -> None:
        while time.monotonic() < until:
            await asyncio.sleep(KILL_SECONDS)
            victim = self.chance.choice([*self._mortal, *self._mortal, "valkey", "temporal"])
            try:
                await self.world.ready()
            except TimeoutError:
                self.wrong.append("a process that was killed did not come back")
                return
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
                self.memory[name].append((time.monotonic(), self.world.usage(name).memory_info().rss))
            await asyncio.sleep(SAMPLE_SECONDS)

    async def _holdings(self, name: str) -> Holdings:
        return Holdings(await self.world.tasks(name), self.world.usage(name).num_fds())

    async def _rested(self) -> dict[str, Holdings]:
        """What is held once it has not changed for a while."""
        give_up = time.monotonic() + REST_SECONDS
        seen: list[dict[str, Holdings]] = []
        while True:
            seen.append({name: await self._holdings(name) for name in SPARED})
            if seen[-RESTS:].count(seen[-1]) == RESTS or time.monotonic() > give_up:
                return seen[-1]
            await asyncio.sleep(SAMPLE_SECONDS)

    async def _compare(self, before: dict[str, Holdings], seconds: float) -> None:
        await self.client.aclose()  # idle connections are ours, not theirs
        after = await self._rested()
        left = _unfinished(self.world.file)
        self._judge("runs without an end in the records", "0", left, good=not left)
        for name, was in before.items():
            now = after[name]
            self._judge(f"{name}: tasks", f"at most {was.tasks}", now.tasks, good=now.tasks <= was.tasks)
            self._judge(f"{name}: files and sockets", f"at most {was.files}", now.files, good=now.files <= was.files)
        for name, grown in self.growth.items():
            minutes = " ".join(f"{size / 1e6:.1f}" for size in _by_minute(self.memory[name]))
            told = f"{grown / 1e6:+.2f}; minute by minute {minutes} MB"
            good = grown < GROWTH_BYTES or seconds < LONG_ENOUGH_SECONDS
            self._judge(f"{name}: memory, second half", "< 1 MB a minute", told, good=good)

    @property
    def growth(self) -> dict[str, float]:
        """Bytes a minute of each spared process over the second half."""
        return {name: _slope(samples[len(samples) // 2 :]) * 60 for name, samples in self.memory.items()}


def _client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=60, limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None))


def _standing(turn: Turn) -> str:
    """Where a turn without an end stands."""
    first, second = turn.readers
    read = f"{len(first.frames)} and {len(second.frames)} frames"
    return f"P1: no end of {turn.run_id} after {read}, refused {first.refused!r} and {second.refused!r}"


def _slope(samples: list[tuple[float, int]]) -> float:
    """How much a second it grows."""
    return statistics.linear_regression(*zip(*samples, strict=True)).slope if len(samples) > 1 else 0.0


def _by_minute(samples: list[tuple[float, int]]) -> list[int]:
    """The size at each full minute."""
    minutes = {int(when - samples[0][0]) // 60: size for when, size in reversed(samples)}
    return [minutes[minute] for minute in sorted(minutes)]


def _unfinished(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM runs WHERE ended_ms IS NULL AND NOT memory").fetchone()
    return int(count)


async def soak(seconds: float, seed: str, together: int) -> Soak:
    """Soak a fresh world."""
    with TemporaryDirectory(prefix="soak-") as folder:
        async with (
            world(Path(folder), soaking=True) as made,
            _client() as client,
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
    bad = not all(verdict.good for verdict in done.verdicts)
    told = f"{done.turns} turns, {done.kills} kills; {done.in_memory} on a memory log, {done.lost} of them lost with it"
    verdict = "The soak did not pass." if bad else "The soak passed."
    sys.stdout.write("\n".join([*done.wrong[:SHOWN], told, "", *map(str, done.verdicts), "", verdict, ""]))
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
