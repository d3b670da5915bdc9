"""What the next prompt is made of."""

import pytest

from protocol.json import JsonObject
from records.records import Records
from records.values import HistoryMessage, Settlement
from tests.contract.records.values import ANA, completed, said, turn


def question(run_id: str, sequence: int) -> HistoryMessage:
    return HistoryMessage(sequence=sequence, role="user", parts=said(f"question of {run_id}"), provider=())


def answer(run_id: str, sequence: int) -> HistoryMessage:
    settlement = completed(run_id)
    return HistoryMessage(sequence=sequence, role="assistant", parts=settlement.parts, provider=settlement.provider)


R1 = (question("r1", 1), answer("r1", 2))
R2 = (question("r2", 3),)  # failed without a word
R3 = (question("r3", 5), answer("r3", 6))


@pytest.fixture
async def three_turns(records: Records) -> Records:
    """One answered, one failed, one answered; a fourth runs."""
    failed = Settlement(status="failed", kind="upstream", now_ms=2_000)
    for run_id, settlement in (("r1", completed("r1")), ("r2", failed), ("r3", completed("r3"))):
        await records.begin(turn(run_id))
        await records.settle(run_id, settlement)
    await records.begin(turn("r4"))
    return records


@pytest.mark.parametrize(
    ("turns", "expected"),
    [(None, R1 + R2 + R3), (9, R1 + R2 + R3), (3, R1 + R2 + R3), (2, R2 + R3), (1, R3), (0, ())],
    ids=["all", "more", "exactly", "orphan first", "last", "none"],
)
async def test_a_window_begins_with_a_question(
    three_turns: Records, turns: int | None, expected: tuple[HistoryMessage, ...]
) -> None:
    """REQ-I15: aligned on the user's messages, of which some have no answer; 0 turns it off."""
    assert await three_turns.history("", "c1", 7, turns) == expected


async def test_what_comes_later_is_not_history(three_turns: Records) -> None:
    """Neither the turn's own question nor a later turn's words, also when it settles late."""
    await three_turns.settle("r4", completed("r4"))
    await three_turns.begin(turn("r5"))

    assert await three_turns.history("", "c1", 7, 1) == R3
    assert await three_turns.history("", "c1", 5, None) == R1 + R2
    assert await three_turns.history("", "c1", 1, None) == ()


async def test_history_is_of_one_conversation(three_turns: Records) -> None:
    assert await three_turns.history("", "c2", 7, None) == ()
    assert await three_turns.history("other", "c1", 7, None) == ()


async def test_provider_blocks_come_back_as_they_were(records: Records) -> None:
    """Signed blocks are refused by their provider when a key moved or a character changed."""
    block: JsonObject = {
        "z": "é\u0000\ud800 \\u0000",
        "type": "thinking",
        "signature": "a+/=",
        "a": [1, 2.5, None, True],
    }
    message: JsonObject = {"role": "assistant", "content": [block]}
    await records.begin(turn("r1"))
    await records.settle(
        "r1", Settlement(status="completed", parts=said("yes"), provider=(message, message), now_ms=2_000)
    )

    _, kept = await records.history(ANA.tenant, ANA.conversation_id, 3, None)

    assert [list(piece.items()) for piece in kept.provider] == [list(message.items())] * 2
    assert repr(kept.provider) == repr((message, message))  # the order of keys too
