"""The end of a run of which only the log can be read, at every point where it may have been left."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from engine.fold import fold
from engine.salvage import salvage
from engine.settle import failed, seal_of, tail_of
from engine.values import Plan
from protocol.checkpoint import Message
from protocol.frames import Frame

TURNS = Path(__file__).parent.parent / "golden" / "turns"
NAMES = sorted(path.name.split(".")[0] for path in TURNS.glob("*.frames.jsonl"))
PLAN = Plan(run_id="r", conversation_id="talk", message_id="m", assistant="bench", model="scripted")
LOST = failed("interrupted", "Lost.")
CLOSED = {"text": "done", "reasoning": "done", "dynamic-tool": ("output-available", "output-error")}


def log_of(name: str) -> list[Frame]:
    """The frames before the end began."""
    lines = [json.loads(line) for line in (TURNS / f"{name}.frames.jsonl").read_text().splitlines()]
    return cast("list[Frame]", lines[: [line["type"] for line in lines].index("data-usage")])


def folded(frames: list[Frame]) -> Message:
    message = Message(id="m")
    for frame in frames:
        message = fold(message, frame)
    return message


@pytest.mark.parametrize("name", NAMES)
def test_wherever_the_log_ends_its_fold_is_what_is_stored(name: str) -> None:
    """LAW-P1, LAW-P2: and nothing in it is left open."""
    log = log_of(name)
    for end in range(len(log) + 1):
        advance = salvage(PLAN, tuple(log[:end]), LOST)
        seal = seal_of(advance.turn.state, LOST)
        whole = [*log[:end], *advance.frames, *tail_of(seal, stored=True)]
        parts = cast("list[dict[str, Any]]", list(seal.message.parts))
        kinds = [frame["type"] for frame in whole]

        assert folded(whole) == seal.message, end
        assert all(part["state"] in CLOSED[part["type"]] for part in parts if part["type"] in CLOSED), end
        assert kinds.count("start-step") == kinds.count("finish-step")
        assert (kinds[0], kinds[-1], kinds.count("finish"), kinds.count("data-usage")) == ("start", "finish", 1, 1)
        assert seal.provider == ()


def test_calls_that_were_asked_for_may_have_been_made() -> None:
    """LAW-P3: their outcome is told as unknown, not as "not run"."""
    log = log_of("parallel_tools")
    asked = [frame["type"] for frame in log].index("tool-output-available")
    advance = salvage(PLAN, tuple(log[:asked]), LOST)
    told = [cast("dict[str, str]", frame)["errorText"] for frame in advance.frames if "errorText" in frame][:3]

    assert len(told) == 3
    assert all(text.startswith("Started, but the turn ended") for text in told)
