"""The suite: undisturbed runs tell the places, rounds of kills hit them, a failing case is tried again alone."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2

from tests.crash.cases import GUARDED, KILLS, TURNS, Case, Hit, Queue, matrix
from tests.crash.points import NOWHERE, Place
from tests.crash.round import BOUND_SECONDS, Result, Round
from tests.crash.turn import Turn
from tests.crash.world import World, world


@dataclass(kw_only=True)
class Suite:
    """One run of the suite with a seed. `say` gets a line of progress at a time."""

    seed: str
    say: Callable[[str], None]
    bug: str = ""
    hits: Sequence[Hit] = KILLS
    bound_seconds: float = BOUND_SECONDS
    results: list[Result] = field(default_factory=list)
    known: int = 0  # how many different cases there are
    seconds: float = 0.0

    async def run(self, count: int, only: Sequence[Case] = ()) -> None:
        """Hit this many (turn, kill) pairs, or the given cases."""
        begun = time.monotonic()
        for guarded in (False, True):
            here = [hit for hit in self.hits if (hit in GUARDED) == guarded] if not only else []
            named = [case for case in only if (case.hit in GUARDED) == guarded]
            if here or named:
                with TemporaryDirectory(prefix="crash-") as folder:
                    async with world(Path(folder), bug=self.bug, guarded=guarded) as made:
                        await self._run(made, here, count, named)
        self.seconds = time.monotonic() - begun

    async def _run(self, made: World, hits: Sequence[Hit], count: int, only: Sequence[Case]) -> None:
        chance = random.Random(self.seed)
        cases = [*only]
        if not only:
            places = await _places(made)
            cases = matrix(places, hits)
            count = round(count * len(cases) / len(matrix(places, self.hits)))  # this world's part of all
        self.known += len(set(cases))
        queue = Queue(cases, chance, len(only) or count)
        while taken := queue.next():
            begun = time.monotonic()
            results = await Round(
                made, [case for case, _ in taken], chance.getrandbits(64), bound_seconds=self.bound_seconds
            ).run()
            for result, (case, tries) in zip(results, taken, strict=True):
                if not result.hit:
                    queue.back(case, tries)
            hit = [result for result in results if result.hit]
            self.results += hit
            if hit:
                seconds = time.monotonic() - begun
                self.say(
                    f"{len(self.results):>5} {hit[0].case.hit:<14}{len(hit)} of {len(taken)} turns, {seconds:.1f} s"
                )
            for result in hit:
                if result.wrong:
                    await self._tell(made, result)

    async def _tell(self, made: World, result: Result) -> None:
        """Say what was violated, and whether the case alone does it, too."""
        for wrong in dict.fromkeys(result.wrong):
            self.say(f"VIOLATION {result.case}: {wrong}")
        seed = random.Random(str(result.case)).getrandbits(64)  # the queue's own chance goes on as it would have
        (alone,) = await Round(made, [result.case], seed, bound_seconds=self.bound_seconds).run()
        again = "again" if alone.wrong else "not this time"
        self.say(f"  alone {again}: make crash SEED={self.seed} CASE={result.case}")

    @property
    def summary(self) -> str:
        """One line."""
        different = len({result.case for result in self.results})
        return (
            f"{len(self.results)} pairs of turn and kill, {different} of {self.known} cases, in {self.seconds:.0f} s: "
            f"{len(self.violations)} violated"
        )

    @property
    def violations(self) -> list[Result]:
        return [result for result in self.results if result.wrong]


async def _places(made: World) -> dict[str, list[Place]]:
    """Where each turn comes by when nothing happens to it."""
    places = {}
    async with httpx2.AsyncClient() as client:
        for name in TURNS:
            case = Case(turn=name, hit="worker", place=Place(NOWHERE, 0))
            turn = Turn(case=case, world=made, client=client, chance=random.Random(name))
            await turn.read()
            places[name] = made.plans.passed(turn.run_id)
    return places
