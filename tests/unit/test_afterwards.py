"""What follows a completed answer, and that it holds nothing up."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from assistants.definition import Assistant
from engine.fold import fold
from engine.settle import settle, stopped_instead, suggesting
from engine.step import COMPLETED
from engine.title import LONGEST, title_of
from engine.turn import begin
from engine.values import Plan
from protocol.checkpoint import Message
from providers.script import Script, parse_script
from records.records import Records
from records.values import Key, Span
from tests.rig import RUN_ID, Rig

SCRIPT = parse_script(
    '{"v":1,"name":"say","input":"Hi."}\n{"events":[{"type":"text","text":"Hello."},{"type":"stop"}]}'
)
STOPPED = parse_script(
    '{"v":1,"name":"say","input":"Hi."}\n{"events":[{"type":"text","text":"Hello.","words":true,"repeat":9},'
    '{"type":"stop","reason":"max_tokens"}]}'
)
KEY = Key(owner="ada", conversation_id="talk")


class Following(Rig):
    """A rig whose assistant has something to add."""

    follow: dict[str, Any]

    @property
    def assistant(self) -> Assistant:
        return replace(super().assistant, **self.follow)


async def play(records: Records, script: Script = SCRIPT, **follow: Any) -> tuple[Following, list[dict[str, Any]]]:
    rig = Following(records=records)
    rig.follow = follow
    await rig.begin("Hi.")
    await rig.run(script)
    frames: list[Any] = await rig.frames()
    return rig, frames


async def at_once(question: str, answer: str) -> tuple[str, ...]:
    return (f"More on {question}", f"Why {answer}")


async def test_prompts_that_are_ready_are_in_the_log_before_its_end() -> None:
    """REQ-G6 REQ-B22 LAW-P2"""
    async with await Records.in_memory() as records:
        _, frames = await play(records, suggest=at_once)
        stored = await records.messages(KEY, Span())

    prompts = {"type": "data-suggested-prompts", "data": {"prompts": ["More on Hi.", "Why Hello."]}}
    assert [frame["type"] for frame in frames[-4:]] == ["data-usage", prompts["type"], "data-reply", "finish"]
    assert frames[-3] == prompts
    message = Message(id="")
    for frame in frames:
        message = fold(message, frame)  # type: ignore[arg-type] # a decoded frame
    assert stored is not None
    assert (stored[-1].parts, stored[-1].suggested) == (message.parts, ())


async def test_prompts_that_take_longer_come_with_the_stored_message() -> None:
    """REQ-G6 [L13]: the end did not wait for them."""
    async with await Records.in_memory() as records:
        seen: list[str] = []

        async def later(question: str, answer: str) -> tuple[str, ...]:
            page = None
            while page is None or not page.ended:
                await asyncio.sleep(0)
                page = await rig.store.read(RUN_ID, 0, 1_000_000)
            seen.append("the end")
            return (f"{question} {answer}",)

        rig = Following(records=records)
        rig.follow = {"suggest": later}
        await rig.begin("Hi.")
        await rig.run(SCRIPT)
        stored = await records.messages(KEY, Span())
        kinds = [frame["type"] for frame in await rig.frames()]

    assert stored is not None
    assert (seen, stored[-1].suggested) == (["the end"], ("Hi. Hello.",))
    assert "data-suggested-prompts" not in kinds


@pytest.mark.parametrize("script", [SCRIPT, STOPPED], ids=["completed", "failed"])
async def test_what_fails_is_left_out_and_a_failed_answer_is_followed_by_nothing(script: Script) -> None:
    async def broken(question: str, answer: str) -> Any:
        raise ValueError(question)

    async with await Records.in_memory() as records:
        _, frames = await play(records, script, suggest=broken if script is SCRIPT else at_once, entitle=broken)
        conversation = await records.conversation(KEY)

    assert frames[-1]["type"] == "finish"
    assert "data-suggested-prompts" not in [frame["type"] for frame in frames]
    assert conversation is not None
    assert conversation.title == ("Hi." if script is SCRIPT else "")


async def test_a_conversation_is_named_after_its_first_answer_and_once() -> None:
    """REQ-G6, REQ-O10: as its assistant names conversations, else by its question."""

    async def named(question: str, answer: str) -> str:
        return f"{question} and {answer}"

    async with await Records.in_memory() as records:
        await play(records, entitle=named)
        first = await records.conversation(KEY)
        await records.entitle("", "talk", "Another name")
        second = await records.conversation(KEY)

    assert first is not None
    assert second is not None
    assert (first.title, second.title) == ("Hi. and Hello.", "Hi. and Hello.")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("What is a frame?", "What is a frame?"),
        ("\n  \n Two   words \n and more", "Two words"),
        ("", ""),
        ("word " * 30, "word word word word word word word word word word word word…"),
        ("x" * 100, "x" * LONGEST + "…"),
    ],
)
def test_a_title_is_the_first_line_cut_at_a_word(text: str, title: str) -> None:
    """REQ-O10"""
    assert title_of(text) == title


def test_an_answer_that_was_stopped_after_all_is_followed_by_nothing() -> None:
    """C3: the stop was recorded before the seal."""
    plan = Plan(run_id="r", conversation_id="c", message_id="m", assistant="a", model="one")
    ended = settle(begin(plan, ()).turn, COMPLETED)
    advance = stopped_instead(suggesting(ended, ("More?",)))

    assert [frame["type"] for frame in advance.frames] == ["finish-step", "abort", "data-usage"]
    assert [part["type"] for part in advance.turn.state.message.parts] == ["step-start", "data-usage"]
