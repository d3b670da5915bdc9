"""Conversations as their owner sees them."""

from dataclasses import replace

import pytest

from records.records import Records
from records.values import Conversation, Key, Span
from tests.contract.records.values import ANA, BEN, completed, delete, turn


async def test_a_conversation_is_created_once(records: Records) -> None:
    """REQ-O4: who creates it again is told, and finds it."""
    assert await records.create(ANA, "Lunch", 500)
    assert not await records.create(ANA, "Dinner", 600)
    assert not await records.create(BEN, "Mine", 700)

    assert await records.conversation(ANA) == Conversation(
        tenant="", id="c1", owner="ana", title="Lunch", active_run_id=None, created_ms=500, updated_ms=500
    )
    assert await records.conversation(BEN) is None  # LAW-P5


async def test_conversations_are_listed_by_their_last_change(records: Records) -> None:
    for number in (1, 2, 3):
        await records.create(Key(owner="ana", conversation_id=f"c{number}"), "", number)
    await records.create(Key(owner="ben", conversation_id="his"), "", 9)
    await records.begin(turn("r1", ANA, now_ms=20))
    await delete(records, Key(owner="ana", conversation_id="c2"))

    assert [each.id for each in await records.conversations("", "ana")] == ["c1", "c3"]
    assert [each.id for each in await records.conversations("", "ana", 1)] == ["c1"]
    assert await records.conversations("other", "ana") == ()


@pytest.mark.parametrize(
    ("span", "sequences"),
    [
        (Span(), [1, 2, 3, 4, 5]),
        (Span(limit=2), [1, 2]),
        (Span(limit=2, past=2), [3, 4]),
        (Span(limit=2, order="desc"), [5, 4]),
        (Span(limit=9, order="desc", past=4), [3, 2, 1]),
        (Span(past=5), []),
    ],
    ids=["all", "first", "next", "newest", "older", "nothing more"],
)
async def test_messages_are_read_by_sequence(records: Records, span: Span, sequences: list[int]) -> None:
    """REQ-O6: by place, not by time: these clocks ran backwards."""
    for number in (1, 2):
        await records.begin(turn(f"r{number}", now_ms=9_000 - number))
        await records.settle(f"r{number}", completed(f"r{number}", now_ms=5_000 - number))
    await records.begin(turn("r3", now_ms=1))

    assert [message.sequence for message in await records.messages(ANA, span) or ()] == sequences


async def test_messages_are_read_by_their_owner_alone(records: Records) -> None:
    """REQ-O6, LAW-P5: foreign, unknown and deleted are all not there; an empty conversation is."""
    await records.create(ANA, "", 500)

    assert await records.messages(ANA, Span()) == ()
    assert await records.messages(BEN, Span()) is None
    assert await records.messages(replace(ANA, tenant="other"), Span()) is None
    assert await records.messages(replace(ANA, conversation_id="c2"), Span()) is None
    await delete(records, ANA)
    assert await records.messages(ANA, Span()) is None
    assert await records.conversation(ANA) is None


async def test_conversations_are_paged_without_a_gap(records: Records) -> None:
    """By what they are ordered by, so that one made meanwhile moves no page; three of them changed in one millisecond."""
    for number, updated_ms in enumerate((1, 5, 5, 5, 9)):
        await records.create(Key(owner="ana", conversation_id=f"c{number}"), "", updated_ms)

    seen: list[str] = []
    past = None
    while page := await records.conversations("", "ana", 2, past):
        seen += [each.id for each in page]
        past = (page[-1].updated_ms, page[-1].id)
        await records.create(Key(owner="ana", conversation_id=f"late{len(seen)}"), "", 10)

    assert seen == ["c4", "c3", "c2", "c1", "c0"]


async def test_a_conversation_is_renamed_by_its_owner(records: Records) -> None:
    await records.create(ANA, "Lunch", 500)

    assert await records.rename(ANA, "Dinner")
    assert not await records.rename(BEN, "Mine")
    assert not await records.rename(replace(ANA, conversation_id="c2"), "Nothing")

    found = await records.conversation(ANA)
    assert found is not None
    assert (found.title, found.updated_ms) == ("Dinner", 500)
    await delete(records, ANA)
    assert not await records.rename(ANA, "Late")
