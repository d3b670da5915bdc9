"""A turn that kills whoever executes it, among turns that do nothing wrong."""

import json
from pathlib import Path

import pytest

from protocol.json import JsonObject
from records.values import Span
from tests.servers import Server
from tests.stack.poisoned import COMMAND
from tests.stack.watched import watched
from tests.temporal import temporal_server

pytestmark = pytest.mark.timeout(180)

POISON = "Take the poison."
TALK = "Talk for a while."
WORDS = 60


def scripts(folder: Path) -> Path:
    """A model call that asks for the tool, and one that takes long without a boundary."""
    asks: list[JsonObject] = [
        {"type": "text", "text": "Now."},
        {"type": "tool_input", "id": "a", "name": "poison", "delta": "{}"},
        {"type": "stop", "reason": "tool_use"},
    ]
    says: list[JsonObject] = [{"type": "text", "text": "word " * WORDS, "words": True}, {"type": "stop"}]
    for name, asked, events in (("poison", POISON, asks), ("talk", TALK, says)):
        lines: list[JsonObject] = [{"v": 1, "name": name, "input": asked}, {"events": [*events], "gap_ms": 200}]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.mark.long
async def test_a_poison_turn_takes_two_workers_with_it_and_then_dies_alone(tmp_path: Path, valkey: Server) -> None:
    """C16 LAW-P1 FR16: it ends typed, its conversation is free, and the turns beside it are answered."""
    (tmp_path / "scripts").mkdir()
    settings = {"TURNKEEP_SCRIPTS": str(scripts(tmp_path / "scripts"))}
    with temporal_server(tmp_path) as temporal:
        async with watched(tmp_path, valkey, temporal, workers=2, command=COMMAND, **settings) as world:
            beside = [await world.ask(f"talk-{number}", TALK) for number in range(6)]
            poisoned = await world.ask("poison", POISON)

            assert (await poisoned).status == "interrupted"
            frames = await world.frames("poison")
            assert [(frame["type"], frame.get("finishReason")) for frame in frames][-1] == ("finish", "error")
            kinds = [frame["data"]["kind"] for frame in frames if frame["type"] == "data-error"]
            assert kinds == ["interrupted"]
            assert world.screen.getvalue().count("was killed by SIGKILL") == 2

            assert [(await one).status for one in beside] == ["completed"] * len(beside)
            assert world.screen.getvalue().count("was killed by SIGKILL") == 2
            told = await world.records.messages(world.key("talk-0"), Span())
            assert told is not None
            texts = [part["text"] for message in told[1:] for part in message.parts if part["type"] == "text"]
            assert texts == ["word " * WORDS]
            next_turn = await world.ask("next", TALK, conversation_id="poison")
            next_turn.cancel()
