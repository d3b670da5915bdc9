"""Which turn is hit where: the matrix, drawn from what undisturbed runs come by, and the words that name one case."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

from tests.crash.points import Place

# inline: the API process that executes the turn · leave: a worker is told to end · pause: a worker stands still and wakes up
# after its turns were taken over · …-line: what lies between our processes and the server · valkey-tail: it comes back without
# what no disk had confirmed · valkey-empty: it comes back with nothing · supervised: a worker whose supervisor lives · late: the
# same, and the supervisor learns of it when another worker has the turn · erase: a worker, and all keys of its turns with it
Hit = Literal[
    "worker", "api", "inline", "leave", "pause", "valkey", "valkey-line", "valkey-tail", "valkey-empty", "temporal",
    "temporal-line", "database", "supervised", "late", "erase",
]  # fmt: skip
KILLS: Final[tuple[Hit, ...]] = get_args(Hit)[:-1]
# These happen to servers, and so to every turn there is.
SERVERS: Final = ("valkey", "valkey-line", "valkey-tail", "valkey-empty", "temporal", "temporal-line", "database")
# In a world with PostgreSQL, and supervisors over the workers; the others in one with SQLite, and workers alone.
GUARDED: Final = ("supervised", "late", "database")
# These take long: a run of which nothing is left has ended after 45 s, a supervised worker starts from scratch.
SELDOM: Final = {"valkey-tail": 3, "valkey-empty": 4, "late": 16, "supervised": 2}
TURNS: Final = ("text", "tools", "steps", "stop", "fallback")
IN_API: Final = ("open.before", "open.after")
TOGETHER: Final = 16  # turns under one kill, each at a place of its own
FEW: Final = {"valkey-tail": 4}  # each boundary of another turn brings to the disk what the others have said
TRIES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A scripted turn, what is killed, and the place where the turn stands at that moment."""

    turn: str
    hit: Hit
    place: Place

    def __str__(self) -> str:
        return ":".join((self.turn, self.hit, str(self.place)))


def parse_case(text: str) -> Case:
    """Read what `str` of a case wrote. Raises ValueError."""
    # A point of the runner has a colon of its own: "boundary:asked".
    turn, hit, place = text.split(":", 2)
    point, _, number = place.rpartition(":")
    if hit not in get_args(Hit):
        raise ValueError(f"{hit!r} is nothing that can be hit")
    return Case(turn=turn, hit=cast("Hit", hit), place=Place(point, int(number)))


def matrix(passed: Mapping[str, Sequence[Place]], hits: Sequence[Hit] = KILLS) -> list[Case]:
    """Every one of these kills at every place of every turn; some of them at some of the places."""
    return [
        Case(turn=turn, hit=hit, place=place)
        for turn, places in passed.items()
        for at, place in enumerate(dict.fromkeys(places))
        for hit in hits
        if _makes_sense(hit, place) and at % SELDOM.get(hit, 1) == 0
    ]


class Queue:
    """The cases of a suite run in random order, given out in rounds of one kill each until none is left.

    More than there are cases repeats them. A case that was not hit, because its process outlived that of the others, comes
    back a few times.
    """

    def __init__(self, cases: Sequence[Case], chance: random.Random, count: int) -> None:
        drawn: list[Case] = []
        while len(drawn) < count:
            drawn += chance.sample(cases, min(len(cases), count - len(drawn)))
        self._chance = chance
        self._left = {hit: [(case, TRIES) for case in drawn if case.hit == hit] for hit in get_args(Hit)}

    def next(self) -> list[tuple[Case, int]]:
        """The cases of the next round, each with the tries it has left. Empty at the end."""
        hits = [hit for hit, left in self._left.items() if left]
        if not hits:
            return []
        hit = self._chance.choices(hits, [len(self._left[hit]) for hit in hits])[0]
        together = FEW.get(hit, TOGETHER)
        taken, self._left[hit] = self._left[hit][:together], self._left[hit][together:]
        return taken

    def back(self, case: Case, tries: int) -> None:
        """Give a case back that was not hit."""
        if tries > 1:
            self._left[case.hit].append((case, tries - 1))


def _makes_sense(hit: Hit, place: Place) -> bool:
    if place.point.startswith("release"):
        return hit not in (
            "inline",
            "late",
        )  # a turn in the API process has no slices; after the last there is no attempt
    # A turn that stands here is not dispatched yet, and whoever opened it waits for the store but a moment: let go, it runs
    # on the memory log, which promises nothing beyond its process (C6). So only the process itself is killed.
    return place.point not in IN_API or hit == "api"
