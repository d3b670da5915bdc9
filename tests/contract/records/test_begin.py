"""A turn begins at once with all its rows, or leaves none."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from protocol.model import Usage
from records.records import Records
from records.values import Begun, Busy, Conversation, Key, Known, NotFound, Reused, Span, StoredMessage
from tests.contract.records.values import ANA, BEN, completed, delete, run_of, said, turn


async def test_a_first_turn_writes_the_conversation_the_question_and_the_run(records: Records) -> None:
    assert await records.begin(turn("r1")) == Begun(1)

    assert await records.conversation(ANA) == Conversation(
        tenant="", id="c1", owner="ana", title="", active_run_id="r1", created_ms=1_000, updated_ms=1_000
    )
    assert await records.messages(ANA, Span()) == (
        StoredMessage(
            id="ask-r1",
            sequence=1,
            role="user",
            run_id="r1",
            parts=({"type": "text", "text": "question of r1"},),
            model="",
            outcome="",
            usage=Usage(),
            created_ms=1_000,
        ),
    )
    assert await records.run("r1") == await records.active_run(ANA) == run_of(turn("r1"), 1)  # REQ-C1


async def test_the_answers_place_is_reserved_with_the_questions(records: Records) -> None:
    """C18: an answer that settles late still stands before the next question."""
    await records.begin(turn("r1"))
    await records.settle("r1", completed("r1"))

    assert await records.begin(turn("r2")) == Begun(3)
    assert [message.sequence for message in await records.messages(ANA, Span()) or ()] == [1, 2, 3]


async def test_a_conversation_has_one_active_run(records: Records) -> None:
    await records.begin(turn("r1"))

    assert await records.begin(turn("r2")) == Busy("r1")  # FR11, C18
    assert await records.run("r2") is None
    assert len(await records.messages(ANA, Span()) or ()) == 1


@pytest.mark.parametrize("ended", [False, True], ids=["running", "ended"])
async def test_a_run_id_begins_once(records: Records, ended: bool) -> None:
    """REQ-C2, REQ-C3, FR11, FR13: repeating a request finds its run, and a run id is used up for ever (C5)."""
    await records.begin(turn("r1"))
    if ended:
        await records.settle("r1", completed("r1"))
    before = await records.messages(ANA, Span())
    run = await records.run("r1")
    assert run is not None

    assert await records.begin(turn("r1", now_ms=9_000)) == Known(run)
    assert await records.begin(replace(turn("r1"), key=replace(ANA, conversation_id="other"))) == Known(run)
    assert await records.messages(ANA, Span()) == before
    assert await records.conversation(replace(ANA, conversation_id="other")) is None


async def test_a_known_run_is_found_while_another_has_the_place(records: Records) -> None:
    await records.begin(turn("r1"))
    await records.settle("r1", completed("r1"))
    await records.begin(turn("r2"))
    run = await records.run("r1")
    assert run is not None

    assert await records.begin(turn("r1")) == Known(run)


async def test_a_conversation_that_must_exist_is_not_created(records: Records) -> None:
    """REQ-O5."""
    assert await records.begin(turn("r1", create=False)) == NotFound()
    assert await records.run("r1") is None

    assert await records.create(ANA, "Lunch", 500)
    assert await records.begin(turn("r1", create=False)) == Begun(1)


async def test_foreign_unknown_and_deleted_look_the_same(records: Records) -> None:
    """LAW-P5."""
    await records.begin(turn("r1"))
    gone = Key(owner="ben", conversation_id="gone")
    await records.begin(turn("r2", gone))
    await records.settle("r2", completed("r2"))
    await delete(records, gone)

    foreign_conversation = turn("r3", BEN)
    foreign_run = turn("r1", Key(owner="ben", conversation_id="mine"))
    foreign_tenant = turn("r1", replace(ANA, tenant="other"))
    deleted = turn("r3", gone)
    run_of_deleted = turn("r2", gone)
    unknown = turn("r3", Key(owner="ben", conversation_id="nowhere"), create=False)
    for each in (foreign_conversation, foreign_run, foreign_tenant, deleted, run_of_deleted, unknown):
        assert await records.begin(each) == NotFound()
    assert await records.run("r3") is None
    assert await records.conversations("", "ben") == ()


async def test_tenants_do_not_share_conversations(records: Records) -> None:
    await records.begin(turn("r1"))

    assert await records.begin(turn("r2", replace(ANA, tenant="other"))) == Begun(1)
    assert len(await records.messages(ANA, Span()) or ()) == 1


async def test_a_clients_message_id_may_be_one_that_is_taken(records: Records) -> None:
    """Otherwise a client that names its question as the next answer will be named makes a run that cannot end (LAW-P1)."""
    await records.begin(replace(turn("r1"), user_message_id="msg-r2"))
    await records.settle("r1", completed("r1"))
    await records.begin(replace(turn("r2"), user_message_id="msg-r2"))

    assert await records.settle("r2", completed("r2"))
    assert [message.id for message in await records.messages(ANA, Span()) or ()] == [
        "msg-r2", "msg-r1", "msg-r2", "msg-r2",
    ]  # fmt: skip


async def test_a_begun_turn_is_seen_by_whoever_opens_the_records(opened: Callable[[], Records]) -> None:
    await opened().begin(turn("r1"))

    assert await opened().run("r1") == run_of(turn("r1"), 1)


@pytest.mark.parametrize("ended", [False, True], ids=["running", "ended"])
async def test_a_run_id_is_of_one_message(records: Records, ended: bool) -> None:
    """FR11: a key that is used for something else is a mistake of the client's, and no answer to its question."""
    await records.begin(turn("r1"))
    if ended:
        await records.settle("r1", completed("r1"))
    before = await records.run("r1")

    assert await records.begin(replace(turn("r1"), parts=said("something else"))) == Reused()
    assert await records.run("r1") == before


async def test_a_late_duplicate_brings_nothing_back(records: Records) -> None:
    """C5: neither the run nor its conversation, deleted or erased, by the same run id or by another one."""
    await records.begin(turn("r1"))
    await delete(records, ANA)

    assert await records.begin(turn("r1")) == NotFound()
    assert await records.begin(turn("r2")) == NotFound()
    await records.erase(ANA, 1_600)
    assert await records.begin(turn("r1")) == NotFound()
    assert await records.begin(turn("r2")) == NotFound()
    assert not await records.create(ANA, "", 1_700)
    assert await records.conversation(ANA) is None
