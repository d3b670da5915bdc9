"""How long a reader hears nothing when something dies, and how soon a stop reaches the model. Real processes on this machine.

    python -m bench.recovery [--kills N] [--turns N] [--only NAME]… [--record]

Milliseconds; percentiles over all turns that were hit. A silence ends with the first frame of the next attempt
(`data-recovering`, then `reset-step`), which withdraws what was said before. A miss is told and fails nothing: a timing depends
on the machine. A frame that is lost makes the exit code 1.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.deaths import House, house
from bench.figures import percentile
from bench.page import markdown, record

NAMES: Final = ("stop", "store", "terminate", "kill", "together")
HEAD: Final = ("what", "times", "turns hit", "p50", "p99", "longest", "has to be", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Milliseconds of each turn that was hit, and the bounds that their percentiles have to keep."""

    what: str
    times: int
    values: Sequence[float]
    bounds: dict[int, float]  # by percentile

    @property
    def row(self) -> list[str]:
        kept = all(percentile(self.values, percent) <= bound for percent, bound in self.bounds.items())
        wanted = ", ".join(
            f"{_NAMED.get(percent, f'p{percent}')} ≤ {bound:,.0f}" for percent, bound in self.bounds.items()
        )
        shown = [f"{percentile(self.values, percent):,.0f}" for percent in (50, 99, 100)]
        verdict = "" if not self.bounds else "ok" if kept else "miss"
        return [self.what, f"{self.times}", f"{len(self.values)}", *shown, wanted, verdict]


_NAMED: Final = {100: "longest"}


async def silences(house: House, turns: int, number: signal.Signals) -> list[float]:
    """Milliseconds without a frame, of each turn that the signal's victim had."""
    async with house.talking(turns) as talking:
        at, struck = await house.hit(talking, number)
        found = []
        for turn in struck:
            place = await turn.until("data-recovering")
            # A worker that was asked to leave goes on for a while: its reader's silence begins with its last frame.
            since = at if number is signal.SIGKILL else turn.seen[place - 1][0]
            found.append((turn.seen[place][0] - since) * 1e3)
    await house.whole_again()
    return found


async def stops(house: House) -> list[float]:
    """Milliseconds from sending the stop until the model's side sees that nobody listens."""
    made = house.gateway.made
    async with house.talking(1) as (turn,):
        call = await house.gateway.call(made + 1)
        at = time.monotonic()
        await house.stop(turn)
        await call.left.wait()
        return [(time.monotonic() - at) * 1e3]


async def outage(house: House, turns: int) -> tuple[list[float], int]:
    """Kill the store and start it again on its file: the longest silence of each turn, and how many frames are missing."""
    async with house.talking(turns) as talking:
        said = [len(turn.seen) for turn in talking]
        await asyncio.to_thread(house.valkey.kill)
        await asyncio.to_thread(house.valkey.start)
        for turn, words in zip(talking, said, strict=True):
            await turn.until("text-delta", words + 100)
    gaps = [max(b - a for (a, _), (b, _) in zip(turn.seen, turn.seen[1:], strict=False)) * 1e3 for turn in talking]
    return gaps, sum(turn.missing for turn in talking)


class Bench:
    """What was measured, and how many frames were lost."""

    def __init__(self, *, only: Sequence[str], kills: int, turns: int) -> None:
        self.measured: list[Measured] = []
        self.lost = 0
        self._only = only
        self._kills = kills
        self._turns = turns

    async def run(self, folder: Path) -> None:
        """All of it, one after the other."""
        async with house(folder / "supervised", supervised=True) as one:
            await self._add("stop", "stop: model call cancelled", {50: 100}, lambda: stops(one), share=0.4)
            await self._add("store", "Redis killed, started on its file", {}, lambda: self._outage(one), share=0.05)
            await self._add(
                "terminate", "worker asked to leave", {50: 300}, lambda: self._silences(one, signal.SIGTERM), share=0.2
            )
            await self._add("kill", "worker killed", {50: 600, 99: 1_500}, lambda: self._silences(one, signal.SIGKILL))
        async with house(folder / "alone", supervised=False) as one:
            await self._add(
                "together",
                "worker and its supervisor killed",
                {100: 6_000},  # the heartbeat's timeout and a second
                lambda: self._silences(one, signal.SIGKILL),
                share=0.1,
            )

    @property
    def rows(self) -> list[list[str]]:
        lost = ["Redis killed: frames lost", "", "", "", "", f"{self.lost}", "0", "miss" if self.lost else "ok"]
        return [*(one.row for one in self.measured), *([lost] if "store" in self._only else [])]

    async def _add(
        self,
        name: str,
        what: str,
        bounds: dict[int, float],
        once: Callable[[], Awaitable[list[float]]],
        *,
        share: float = 1,
    ) -> None:
        """Measure it, this share of the times that workers are killed."""
        if name not in self._only:
            return
        times = max(round(self._kills * share), 2)
        sys.stderr.write(f"{what}, {times} times …\n")
        values = [value for _ in range(times) for value in await once()]
        self.measured.append(Measured(what=what, times=times, values=values, bounds=bounds))

    async def _silences(self, one: House, number: signal.Signals) -> list[float]:
        return await silences(one, self._turns, number)

    async def _outage(self, one: House) -> list[float]:
        gaps, missing = await outage(one, self._turns)
        self.lost += missing
        return gaps


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.recovery", description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=100, help="of workers (100), and of all else in proportion")
    parser.add_argument("--turns", type=int, default=4, help="turns at a time (4)")
    parser.add_argument("--only", action="append", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--record", action="store_true", help="write the table into docs/benchmarks.md")
    arguments = parser.parse_args()
    bench = Bench(only=arguments.only or NAMES, kills=arguments.kills, turns=arguments.turns)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="recovery-") as folder:
        for name in ("supervised", "alone"):
            (Path(folder) / name).mkdir()
        asyncio.run(bench.run(Path(folder)))
    text = markdown(HEAD, bench.rows, {"seconds": f"{time.monotonic() - begun:.0f}"})
    print(text, end="")
    if arguments.record:
        record("recovery", text)
    return 1 if bench.lost else 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # the interpreter's own way out crashes now and then after a Temporal client ran in it
