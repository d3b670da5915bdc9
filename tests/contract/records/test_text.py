"""Every text field takes any Python string, or refuses it with a typed error (FR38)."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from protocol.errors import TurnkeepError
from protocol.json import JsonObject
from records.records import Records
from records.values import Key, Settlement, Span, TurnBegin
from tests.contract.records.values import ANA, turn

HOSTILE = "a\x00b\x1f\x7f\x85\ufeff\ufffe\uffff\u2028\udc00\udfff\ud800 \\u0000 \U0001f600é"
REFUSED = "\x00\x1f\x7f\udc00\udfff\ud800"
AS_LABEL = "".join("\ufffd" if character in REFUSED else character for character in HOSTILE)
STORABLE_ID = "".join(character for character in HOSTILE if character not in REFUSED)


async def test_documents_keep_every_character(records: Records) -> None:
    part: JsonObject = {"type": "text", "text": HOSTILE, HOSTILE: {HOSTILE: [HOSTILE]}}
    await records.begin(replace(turn("r1"), parts=(part,)))
    await records.settle("r1", Settlement(status="completed", parts=(part,), provider=(part,), now_ms=2_000))

    assert [message.parts for message in await records.messages(ANA, Span()) or ()] == [(part,), (part,)]
    question, answer = await records.history("", "c1", 3, None)
    assert (question.parts, answer.parts, answer.provider) == ((part,), (part,), (part,))


async def test_two_surrogates_come_back_as_what_they_spell(records: Records) -> None:
    await records.begin(replace(turn("r1"), parts=({"text": "\ud83d" + "\ude00"},)))

    assert [message.parts for message in await records.messages(ANA, Span()) or ()] == [({"text": "\U0001f600"},)]


async def test_labels_replace_what_no_database_takes(records: Records) -> None:
    await records.create(ANA, HOSTILE, 500)
    await records.begin(turn("r1"))
    await records.settle("r1", Settlement(status="completed", parts=({},), model=HOSTILE, now_ms=2_000))

    conversation = await records.conversation(ANA)
    assert conversation is not None
    assert conversation.title == AS_LABEL
    assert [message.model for message in await records.messages(ANA, Span(past=1)) or ()] == [AS_LABEL]


IDS: dict[str, Callable[[str], TurnBegin]] = {
    "tenant": lambda text: replace(turn("r1"), key=replace(ANA, tenant=text)),
    "owner": lambda text: replace(turn("r1"), key=replace(ANA, owner=text)),
    "conversation": lambda text: replace(turn("r1"), key=replace(ANA, conversation_id=text)),
    "run": turn,
    "assistant": lambda text: replace(turn("r1"), assistant=text),
    "question": lambda text: replace(turn("r1"), user_message_id=text),
    "answer": lambda text: replace(turn("r1"), message_id=text),
}


@pytest.mark.parametrize("field", IDS)
@pytest.mark.parametrize("text", ["a\x00", "\ud800", "a\x9b"], ids=["NUL", "lone surrogate", "control"])
async def test_an_id_no_database_takes_is_refused(records: Records, field: str, text: str) -> None:
    """FR38: refused, not replaced: two owners must never become one (LAW-P5)."""
    with pytest.raises(TurnkeepError) as refused:
        await records.begin(IDS[field](text))

    assert refused.value.kind == "invalid"
    assert await records.unfinished(9_000, 10) == ()


@pytest.mark.parametrize("field", IDS)
async def test_any_other_text_is_an_id(records: Records, field: str) -> None:
    begun = IDS[field](STORABLE_ID)
    await records.begin(begun)

    run = await records.run(begun.run_id)
    assert run is not None
    assert (run.tenant, run.owner, run.conversation_id) == (
        begun.key.tenant,
        begun.key.owner,
        begun.key.conversation_id,
    )
    assert (run.assistant, run.user_message_id, run.message_id) == (
        begun.assistant, begun.user_message_id, begun.message_id,
    )  # fmt: skip


async def test_looking_for_an_impossible_id_is_refused_the_same_way(records: Records) -> None:
    impossible = Key(owner="ana", conversation_id="\x00")
    for question in (records.run("\x00"), records.conversation(impossible), records.messages(impossible, Span())):
        with pytest.raises(TurnkeepError) as refused:
            await question
        assert refused.value.kind == "invalid"
