"""A turn that stands in the place of an earlier one, and requests that come twice."""

from dataclasses import replace

from records.records import Records
from records.values import Begun, Busy, Known, Question, Reused, Revision, Span, Stale, TurnBegin
from tests.contract.records.values import ANA, completed, said, turn

LAST = Revision(kind="regenerate")


def regenerating(run_id: str, message_id: str | None = None) -> TurnBegin:
    return replace(turn(run_id), revision=Revision(kind="regenerate", message_id=message_id))


def editing(run_id: str, message_id: str, text: str) -> TurnBegin:
    revision = Revision(kind="edit", message_id=message_id)
    return replace(turn(run_id), user_message_id=message_id, parts=said(text), by_client=True, revision=revision)


async def talked(records: Records, *run_ids: str) -> None:
    """One turn after the other, to its end."""
    for run_id in run_ids:
        assert isinstance(await records.begin(turn(run_id)), Begun)
        assert await records.settle(run_id, completed(run_id))


async def ended(records: Records, begin: TurnBegin) -> None:
    assert isinstance(await records.begin(begin), Begun)
    assert await records.settle(begin.run_id, completed(begin.run_id))


async def shown(records: Records) -> list[str]:
    messages = await records.messages(ANA, Span())
    assert messages is not None
    return [f"{one.id}: {one.parts[0]['text']}" for one in messages]


async def known(records: Records, begin: TurnBegin) -> str:
    """The run that this request is known by."""
    found = await records.begin(begin)
    assert isinstance(found, Known), found
    return found.run.run_id


async def test_an_answer_regenerated_takes_the_old_ones_place(records: Records) -> None:
    await talked(records, "r1", "r2")
    question = Question(id="ask-r2", parts=said("question of r2"))

    assert await records.begin(regenerating("r3", "msg-r2")) == Begun(5, question)
    assert await records.settle("r3", completed("r3"))

    assert await shown(records) == [
        "ask-r1: question of r1", "msg-r1: answer of r1", "ask-r2: question of r2", "msg-r3: answer of r3",
    ]  # fmt: skip
    history = await records.history("", "c1", 5, None)
    assert [one.sequence for one in history] == [1, 2]


async def test_regenerating_an_earlier_answer_supersedes_what_followed(records: Records) -> None:
    await talked(records, "r1", "r2")
    await ended(records, regenerating("r3", "msg-r1"))

    assert await shown(records) == ["ask-r1: question of r1", "msg-r3: answer of r3"]


async def test_without_a_name_or_by_its_question_the_last_answer_is_meant(records: Records) -> None:
    await talked(records, "r1")
    await ended(records, regenerating("r2"))
    await ended(records, regenerating("r3", "ask-r1"))

    assert await shown(records) == ["ask-r1: question of r1", "msg-r3: answer of r3"]


async def test_an_edited_question_supersedes_itself_and_what_followed(records: Records) -> None:
    await talked(records, "r1", "r2", "r3")
    await ended(records, editing("r4", "ask-r2", "Or rather?"))

    assert await shown(records) == [
        "ask-r1: question of r1", "msg-r1: answer of r1", "ask-r2: Or rather?", "msg-r4: answer of r4",
    ]  # fmt: skip


async def test_an_edit_of_what_never_arrived_is_a_message_like_any_other(records: Records) -> None:
    await talked(records, "r1")
    await ended(records, editing("r2", "lost", "Once more."))

    assert len(await shown(records)) == 4


async def test_while_a_run_is_active_nothing_takes_its_place(records: Records) -> None:
    await talked(records, "r1")
    await records.begin(turn("r2"))

    assert await records.begin(regenerating("r3", "msg-r1")) == Busy("r2")
    assert len(await shown(records)) == 3


async def test_a_repeat_is_the_run_that_the_first_began(records: Records) -> None:
    """FR11: live and after its end."""
    await talked(records, "r1")
    for begin in (regenerating("r2", "msg-r1"), editing("r3", "ask-r1", "Or?"), editing("r4", "ask-r1", "Or else?")):
        assert isinstance(await records.begin(begin), Begun)
        assert await known(records, replace(begin, run_id="again")) == begin.run_id
        assert await records.settle(begin.run_id, completed(begin.run_id))
        assert await known(records, replace(begin, run_id="again")) == begin.run_id


async def test_without_a_name_a_repeat_is_known_while_the_run_lives(records: Records) -> None:
    await talked(records, "r1")
    await records.begin(regenerating("r2"))

    assert await known(records, regenerating("r3")) == "r2"
    await records.settle("r2", completed("r2"))
    assert isinstance(await records.begin(regenerating("r3")), Begun)  # the wish for yet another answer


async def test_editing_back_and_forth_is_a_new_turn_each_time(records: Records) -> None:
    await talked(records, "r1")
    for number, text in enumerate(("one", "two", "one", "two"), 2):
        await ended(records, editing(f"r{number}", "ask-r1", text))

    assert await shown(records) == ["ask-r1: two", "msg-r5: answer of r5"]


async def test_the_same_message_of_a_client_is_the_same_run(records: Records) -> None:
    """FR11"""
    first = replace(turn("r1"), user_message_id="FbCy5jm", by_client=True)
    await ended(records, first)
    await talked(records, "r2")

    assert await known(records, replace(first, run_id="r3")) == "r1"
    assert isinstance(await records.begin(replace(first, run_id="r3", parts=said("another text"))), Begun)


async def test_a_key_belongs_to_one_request(records: Records) -> None:
    """FR11"""
    first = replace(turn("r1"), by_key=True)
    await ended(records, first)

    assert await known(records, first) == "r1"
    assert await records.begin(replace(first, parts=said("another text"))) == Reused()
    assert await records.begin(replace(first, key=replace(ANA, conversation_id="c2"))) == Reused()
    assert await records.begin(replace(first, revision=LAST)) == Reused()


async def test_who_is_behind_is_told_the_head(records: Records) -> None:
    """FR35"""
    await talked(records, "r1", "r2")

    behind = await records.begin(replace(turn("r3"), expected_head="msg-r1"))
    with_it = await records.begin(replace(turn("r3"), expected_head="msg-r2"))

    assert (behind, with_it) == (Stale("msg-r2"), Begun(5))


async def test_what_another_turn_superseded_cannot_be_regenerated(records: Records) -> None:
    """FR35"""
    await talked(records, "r1")
    await ended(records, regenerating("r2", "msg-r1"))
    await ended(records, regenerating("r3", "msg-r2"))

    assert await records.begin(regenerating("r4", "msg-r1")) == Stale("msg-r3")
    assert await records.begin(regenerating("r4", "unknown")) == Stale("msg-r3")
