"""Turns that stand at a named place while somebody watches them, and lose their worker there."""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.crash.composition import OUTBOX
from tests.crash.points import Place
from tests.crash.world import World, world

_SALT: Final = re.compile(r"\b[0-9a-f]{8}\.\d\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where a scripted turn stands, and how many frames of which type its watcher has by then.

    `kept` says whether what was shown in the step stays, because its tools were asked for. `effects` is how often calls act on
    the outside, over both attempts; others that run beside them may or may not have to act again.
    """

    turn: str
    place: Place
    shown: tuple[str, int]
    kept: bool
    effects: dict[str, int]


SCENES: Final = {
    "in mid-text": Scene(
        turn="text", place=Place("append.after", 11), shown=("text-delta", 4), kept=False, effects={}
    ),
    "after the effect of a call that must not be repeated": Scene(
        turn="tools",
        place=Place("send.done", 1),
        shown=("tool-input-available", 2),
        kept=True,
        effects={"1.0": 1},
    ),
    "after the effect of a call that may be repeated": Scene(
        turn="tools",
        place=Place("look.done", 1),
        shown=("tool-input-available", 2),
        kept=True,
        effects={"1.0": 1, "1.1": 2},
    ),
}  # fmt: skip


def salts(text: str) -> set[str]:
    """What each model call said that no other call says."""
    return set(_SALT.findall(text))


def effects(made: World, run_id: str) -> dict[str, int]:
    """How often each call of a run acted on the outside, by step and ordinal."""
    path = made.folder / OUTBOX
    keys = [json.loads(line)["key"] for line in path.read_text().splitlines()] if path.exists() else []
    return dict(Counter(key.removeprefix(f"{run_id}:") for key in keys if key.startswith(run_id)))


async def lose_the_worker(made: World, run_id: str) -> None:
    """Kill the process in which the run stands, once it stands."""
    held = await made.held(run_id)
    made.kill(made.of(held.pid))
    held.line.close()


@asynccontextmanager
async def watched_world() -> AsyncIterator[World]:
    """A world in a folder of its own, whose workers may be killed."""
    with TemporaryDirectory(prefix="watched-") as folder:
        async with world(Path(folder)) as made:
            await made.switch(on=True)
            yield made
