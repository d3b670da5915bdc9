"""One kill: several turns, each brought to a place of its own, then something dies under all of them at once."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import httpx2

from resp.keys import Keys
from tests.crash.cases import IN_API, SERVERS, Case
from tests.crash.points import Place
from tests.crash.properties import after_loss, repeated, violations
from tests.crash.turn import Turn
from tests.crash.world import World

BOUND_SECONDS: Final = 60.0  # to the end of every turn, after the kill: what P1 promises
STANDING_SECONDS: Final = 20.0  # for a turn to come to its place
TAKEN_OVER_SECONDS: Final = 5.0  # for another worker to have it, once the heartbeat stays away


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a case. `hit` is false where the kill struck another process than its own: then nothing is said."""

    case: Case
    hit: bool
    wrong: tuple[str, ...] = ()
    silence: float | None = (
        None  # seconds from the kill to the next frame that the log did not have, where there was one
    )


class Round:
    """One round in a world. The same seed does the same, as far as processes let it."""

    def __init__(
        self,
        world: World,
        cases: Sequence[Case],
        seed: int,
        *,
        bound_seconds: float,
        standing_seconds: float = STANDING_SECONDS,
    ) -> None:
        self._bound = bound_seconds
        self._standing = standing_seconds
        self._world = world
        self._cases = cases
        self._chance = random.Random(seed)
        self._kind = cases[0].hit

    async def run(self) -> list[Result]:
        """Do it, and say what became of each case."""
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        await self._world.switch(on=self._kind != "inline")
        await self._world.sync("everysec" if self._kind == "valkey-tail" else "always")
        async with httpx2.AsyncClient(timeout=BOUND_SECONDS, limits=limits) as client:
            turns = [Turn(case=case, world=self._world, client=client, chance=self._own()) for case in self._cases]
            reading = [asyncio.create_task(turn.read()) for turn in turns]
            try:
                return await self._hit(turns, reading)
            finally:
                for task in reading:
                    task.cancel()
                await asyncio.gather(*reading, return_exceptions=True)

    async def _hit(self, turns: Sequence[Turn], reading: "Sequence[asyncio.Task[None]]") -> list[Result]:
        standing = asyncio.gather(*(turn.stand(task) for turn, task in zip(turns, reading, strict=True)))
        with suppress(TimeoutError):  # a turn that is not there by then is not hit
            await asyncio.wait_for(standing, self._standing)
        for turn in turns:
            if turn.held is None:  # it may come yet, and nobody would let it go
                self._world.let_pass(turn.run_id)
        stopping = [turn for turn in turns if turn.case.turn == "stop"]
        # A stop waits for the disk: made now it would bring everything there that is to be lost.
        now = self._kind != "valkey-tail"
        before = [turn for turn in stopping if now and self._chance.random() < 0.5]
        await asyncio.gather(*(turn.stop() for turn in before))
        victims = self._victims(turns)
        # A turn on the memory log is read from the process that has it, and can be taken over by none (C6).
        struck = [turn for turn in turns if turn.held and not turn.readers[0].memory and victims & self._under(turn)]
        lengths = await asyncio.gather(*(self._world.length(turn.run_id) for turn in struck))
        for turn, length in zip(struck, lengths, strict=True):
            turn.known = length
        since = time.monotonic()
        struck = await self._kill(victims, turns, struck)
        try:
            if self._kind == "erase":
                wrong = await self._after_erasing(struck, turns)
            else:
                late = (turn.stop() for turn in stopping if turn not in before)
                await asyncio.wait_for(asyncio.gather(*late, *reading), self._bound)
                asked = after_loss if self._kind == "valkey-empty" else violations
                wrong = await asyncio.wait_for(asyncio.gather(*map(asked, turns)), self._bound)
        except TimeoutError:
            wrong = [[f"P1: no end: {_where(turn)}"] if _unended(turn) else [] for turn in turns]
        for name in await self._world.left():
            for turn in struck:
                turn.wrong.append(f"{name} was told to leave and did not")
        await self._world.ready()
        return [
            _result(turn, [*turn.wrong, *found], since, hit=turn in struck)
            for turn, found in zip(turns, wrong, strict=True)
        ]

    async def _after_erasing(self, struck: Sequence[Turn], turns: Sequence[Turn]) -> list[list[str]]:
        """Nothing is left to read; all that can be asked is whether somebody began anew."""
        await asyncio.wait_for(asyncio.gather(*(self._world.closed(turn.run_id) for turn in struck)), self._bound)
        return [repeated(turn) for turn in turns]

    def _own(self) -> random.Random:
        return random.Random(self._chance.getrandbits(64))

    def _under(self, turn: Turn) -> set[str]:
        """The processes whose death strikes the turn."""
        if self._kind in SERVERS:
            return {self._kind}
        if self._kind == "api" and turn.case.place.point not in IN_API:
            return {reader.at for reader in turn.readers if reader.at}
        return {self._world.of(turn.held.pid)} if turn.held else set()

    def _victims(self, turns: Sequence[Turn]) -> set[str]:
        """One process, the one under most of the turns; or, half of the time, all of them."""
        under = Counter(name for turn in turns if turn.held for name in sorted(self._under(turn)))
        if self._kind in SERVERS:
            return {self._kind}
        if not under:
            return set()  # every turn went past its point: there is nobody to strike
        several = self._kind in ("worker", "inline", "leave", "supervised", "erase") and self._chance.random() < 0.5
        return set(under) if several else {under.most_common(1)[0][0]}

    async def _kill(self, victims: set[str], turns: Sequence[Turn], struck: list[Turn]) -> list[Turn]:
        """Do it, and let go of what stands. The turns that were struck."""

        def let_go() -> None:
            for turn in turns:
                turn.let_go()

        match self._kind:
            case "valkey-tail":
                lost = await self._world.lose_tail(let_go)
                return [turn for turn in struck if Keys().log(turn.run_id).encode() in lost]
            case "valkey-line" | "temporal-line":
                going_bad = asyncio.create_task(self._world.lines[self._kind].go_bad(self._own()))
                await asyncio.sleep(0)  # it is bad
                let_go()
                await going_bad
            case "pause":
                await self._pause(victims, struck, let_go)
            case "late":
                return await self._learn_late(victims, struck, let_go)
            case kind if kind in SERVERS:
                await self._kill_server(let_go)
            case _:
                await self._kill_processes(victims, struck)
                let_go()
        return struck

    async def _kill_server(self, let_go: Callable[[], None]) -> None:
        kill = {
            "valkey": self._world.kill_valkey,
            "valkey-empty": self._world.empty_valkey,
            "temporal": self._world.kill_temporal,
            "database": self._world.kill_database,
        }
        await kill[self._kind](let_go)

    async def _kill_processes(self, victims: set[str], struck: Sequence[Turn]) -> None:
        if self._kind == "erase":
            await asyncio.gather(*(self._world.erase(turn.run_id) for turn in struck))
        for name in victims:
            if self._kind == "leave":
                self._world.ask_to_leave(name)
            else:
                self._world.kill(name)

    async def _learn_late(self, victims: set[str], struck: list[Turn], let_go: Callable[[], None]) -> list[Turn]:
        """The worker dies, another one takes its turns over, and only then does the supervisor give back what was held.

        It must not be taken for a failure of those who have the turns by now (C15). The turns where somebody had.
        """
        for turn in struck:
            self._world.stand_again(turn.run_id, Place("append.before", turn.known))
        for name in victims:
            self._world.blind(name)
            self._world.kill(name)
        standing = [asyncio.create_task(self._world.held(turn.run_id)) for turn in struck]
        await asyncio.wait(standing, timeout=TAKEN_OVER_SECONDS)
        over = [turn for turn, held in zip(struck, standing, strict=True) if held.done()]
        before = await asyncio.gather(*(self._world.attempt(turn.run_id) for turn in over))
        await asyncio.gather(*(self._world.see(name) for name in victims))
        after = await asyncio.gather(*(self._world.attempt(turn.run_id) for turn in over))
        for turn, old, new in zip(over, before, after, strict=True):
            if new != old:
                turn.wrong.append(f"C15: attempt {old} was at work and was failed for a dead one: now there is {new}")
        for turn, held in zip(struck, standing, strict=True):
            if held.done():
                held.result().line.close()
            held.cancel()
            self._world.let_pass(turn.run_id)
        let_go()
        return over

    async def _pause(self, victims: set[str], struck: Sequence[Turn], let_go: Callable[[], None]) -> None:
        """Let the processes stand still until others have taken their turns over, and then go on."""
        known = [len(turn.readers[0].frames) for turn in struck]
        for name in victims:
            await self._world.pause(name)
        taken_over = [turn.readers[0].wait_for_news(seen) for turn, seen in zip(struck, known, strict=True)]
        with suppress(TimeoutError):  # nothing was left to show, as after the last frame
            await asyncio.wait_for(asyncio.gather(*taken_over), STANDING_SECONDS)
        let_go()
        for name in victims:
            self._world.go_on(name)


def _result(turn: Turn, wrong: Sequence[str], since: float, *, hit: bool) -> Result:
    return Result(case=turn.case, hit=hit or bool(wrong), wrong=tuple(wrong), silence=turn.silence(since))


def _unended(turn: Turn) -> bool:
    return not all(reader.ended for reader in turn.readers)


def _where(turn: Turn) -> str:
    return "; ".join(
        f"{len(reader.frames)} frames from {reader.at}, the last {reader.frames[-1:]!r}, refused {reader.refused!r}"
        for reader in turn.readers
        if not reader.ended
    )
