"""A run ends once in the records, with its answer and its conversation's place, however often that is said."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from protocol.model import Usage
from records.records import Records
from records.values import Begun, Settlement, Span, StoredMessage
from tests.contract.records.values import ANA, USAGE, completed, delete, erase, run_of, said, turn


async def test_a_settled_run_leaves_its_answer_and_frees_the_conversation(records: Records) -> None:
    begun = turn("r1")
    await records.begin(begun)

    assert await records.settle("r1", completed("r1", now_ms=2_000))

    assert await records.messages(ANA, Span(past=1)) == (
        StoredMessage(
            id="msg-r1",
            sequence=2,
            role="assistant",
            run_id="r1",
            parts=({"type": "text", "text": "answer of r1"},),
            model="stub",
            outcome="completed",
            usage=USAGE,
            created_ms=2_000,
        ),
    )
    assert await records.run("r1") == replace(run_of(begun, 1), status="completed", updated_ms=2_000, ended_ms=2_000)
    assert await records.active_run(ANA) is None
    conversation = await records.conversation(ANA)
    assert conversation is not None
    assert (conversation.active_run_id, conversation.updated_ms) == (None, 2_000)
    assert await records.begin(turn("r2")) == Begun(3)  # LAW-P1


async def test_settling_again_changes_nothing(records: Records) -> None:
    """C3: a replayed seal only confirms, also when the conversation has gone on."""
    await records.begin(turn("r1"))
    await records.settle("r1", completed("r1"))
    await records.begin(turn("r2"))
    run, messages = await records.run("r1"), await records.messages(ANA, Span())

    assert await records.settle("r1", completed("r1", now_ms=9_000))

    assert (await records.run("r1"), await records.messages(ANA, Span())) == (run, messages)
    active = await records.active_run(ANA)
    assert active is not None
    assert active.run_id == "r2"  # C18: an old run frees nobody else's place


async def test_the_first_of_two_outcomes_stands(records: Records) -> None:
    await records.begin(turn("r1"))
    await records.settle("r1", Settlement(status="interrupted", kind="interrupted", now_ms=2_000))

    assert not await records.settle("r1", completed("r1"))

    run = await records.run("r1")
    assert run is not None
    assert (run.status, run.kind, run.ended_ms) == ("interrupted", "interrupted", 2_000)
    assert len(await records.messages(ANA, Span()) or ()) == 1


async def test_many_settle_at_once_and_one_answer_is_stored(opened: Callable[[], Records]) -> None:
    """C3: executor, stop route, sweeper and a zombie replay the same seal."""
    several = [opened() for _ in range(4)]
    await several[0].begin(turn("r1"))

    assert all(await asyncio.gather(*(each.settle("r1", completed("r1")) for each in several)))
    assert [message.sequence for message in await several[0].messages(ANA, Span()) or ()] == [1, 2]


async def test_one_of_two_outcomes_settles(opened: Callable[[], Records]) -> None:
    """C3."""
    one, other = opened(), opened()
    await one.begin(turn("r1"))
    stopped = Settlement(status="stopped", kind="stopped", parts=said("ans"), now_ms=2_000)

    stored = await asyncio.gather(one.settle("r1", completed("r1")), other.settle("r1", stopped))

    run = await one.run("r1")
    assert run is not None
    assert tuple(stored) == (run.status == "completed", run.status == "stopped")
    assert [message.outcome for message in await one.messages(ANA, Span()) or ()] == ["", run.status]


async def test_a_partial_answer_is_stored(records: Records) -> None:
    """REQ-G3: what was shown before the stop, the error or the limit is kept."""
    await records.begin(turn("r1"))

    assert await records.settle("r1", Settlement(status="stopped", kind="stopped", parts=said("ans"), now_ms=2_000))

    assert await records.messages(ANA, Span(past=1)) == (
        StoredMessage(
            id="msg-r1",
            sequence=2,
            role="assistant",
            run_id="r1",
            parts=said("ans"),
            model="",
            outcome="stopped",
            usage=Usage(),
            created_ms=2_000,
        ),
    )


async def test_a_run_without_an_answer_leaves_the_question_alone(records: Records) -> None:
    await records.begin(turn("r1"))
    failed = Settlement(status="failed", kind="upstream", now_ms=2_000)

    assert await records.settle("r1", failed)
    assert await records.settle("r1", failed)

    assert [message.role for message in await records.messages(ANA, Span()) or ()] == ["user"]
    run = await records.run("r1")
    assert run is not None
    assert (run.status, run.kind) == ("failed", "upstream")
    assert await records.begin(turn("r2")) == Begun(3)


async def test_the_answer_of_a_deleted_conversation_is_not_kept(records: Records) -> None:
    """C5: deleted text does not come back. The run ends all the same."""
    await records.begin(turn("r1"))
    await delete(records, ANA)

    assert not await records.settle("r1", completed("r1"))
    assert not await records.settle("r1", completed("r1"))

    run = await records.run("r1")
    assert run is not None
    assert run.status == "completed"
    assert await records.history("", "c1", 3, None) == ()


async def test_a_late_answer_does_not_enter_an_erased_conversation(records: Records) -> None:
    """C5: nor does erased text come back by a second try of its settlement."""
    await records.begin(turn("r1"))
    await erase(records, ANA)

    assert not await records.settle("r1", completed("r1"))
    assert not await records.settle("r1", completed("r1"))
    assert await records.messages(ANA, Span()) is None
    assert await records.history("", "c1", 9, None) == ()


async def test_a_run_that_never_began_cannot_be_settled(records: Records) -> None:
    """C5."""
    assert not await records.settle("r1", completed("r1"))
    assert await records.messages(ANA, Span()) is None
