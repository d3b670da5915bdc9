"""How much of what was said before a model is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistants.definition import PROFILES
from engine.context import LEFT_OUT, squeezed, tokens, trimmed
from engine.failing import model_failed
from engine.history import Said, mended, reconstruct
from engine.step import model_event
from engine.values import Plan, Turn
from protocol.checkpoint import Message, Trying, TurnState
from protocol.errors import ProviderError
from protocol.json import JsonObject
from protocol.model import Stopped, TextDelta
from tests.history_rules import broken_rules

TOO_LONG = ProviderError("context_overflow", "Too long.")
LONG = "word " * 600


def spoken(role: str, *content: JsonObject) -> JsonObject:
    return {"role": role, "content": [*content]}


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def asked(number: int, words: str = LONG) -> tuple[JsonObject, ...]:
    """A turn with a tool in it."""
    call: JsonObject = {"type": "tool_use", "id": f"c{number}", "name": "add", "input": {}}
    result: JsonObject = {"type": "tool_result", "tool_use_id": f"c{number}", "content": [text(words)]}
    thought: JsonObject = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    return (spoken("assistant", thought, call), spoken("user", result), spoken("assistant", thought, text(words)))


def talk(turns: int) -> tuple[JsonObject, ...]:
    said = [
        one
        for number in range(turns)
        for one in (Said("user", f"Question {number}"), Said("assistant", "", asked(number)))
    ]
    return reconstruct(mended(said), "And now?", turns=None)


@given(st.integers(0, 12), st.integers(0, 20_000))
def test_a_cut_history_is_well_formed_and_ends_with_the_question(turns: int, limit: int) -> None:
    """REQ-G4: no call is parted from its result."""
    whole = talk(turns)
    cut = trimmed(whole, limit)

    assert broken_rules(cut.messages) == []
    assert cut.messages[-1] == whole[-1]
    assert len(cut.messages) == len(whole) - cut.left_out == cut.start
    assert tokens(cut.messages) <= limit or len(cut.messages) == 1


def test_what_fits_is_the_same_to_the_byte() -> None:
    assert trimmed(talk(3), 10_000).messages == talk(3)


def test_the_cut_stays_where_it_is_for_a_while() -> None:
    """REQ-G7: a prefix that changes with every turn is never cached."""
    cuts = [trimmed(talk(turns), 20_000) for turns in range(10, 20)]
    firsts = [cut.messages[0]["content"] for cut in cuts]

    assert all(cut.left_out for cut in cuts)
    assert len({str(first) for first in firsts}) <= len(cuts) // 2


def test_behind_a_cut_no_earlier_thought_is_left() -> None:
    kinds = [block["type"] for message in trimmed(talk(6), 5_000).messages for block in message["content"]]  # type: ignore[union-attr, index, call-overload] # blocks

    assert "thinking" not in kinds


def test_a_picture_counts_the_same_whatever_its_size() -> None:
    def picture(size: int) -> JsonObject:
        return spoken("user", {"type": "image", "source": {"type": "base64", "data": "x" * size}})

    assert tokens([picture(10)]) == tokens([picture(10_000_000)])


@given(st.integers(0, 4), st.integers(1, 5))
def test_a_squeezed_turn_is_well_formed_and_shorter(before: int, steps: int) -> None:
    past = talk(before)
    own = tuple(message for number in range(steps) for message in asked(100 + number)[:2])
    cut = squeezed((*past, *own), len(past))

    if cut is None:
        assert (before, steps) == (0, 1)
        return
    assert broken_rules(cut.messages) == []
    assert tokens(cut.messages) < tokens((*past, *own))
    assert cut.messages[-1] == own[-1]
    assert cut.messages[cut.start] == own[0]


def test_long_results_of_the_turn_itself_go_the_oldest_first() -> None:
    """FR50"""
    own = tuple(message for number in range(4) for message in asked(number)[:2])
    cut = squeezed((spoken("user", text("Go.")), *own), 1)

    assert cut is not None
    results = [message for message in cut.messages[1:] if message["role"] == "user"]
    assert [LEFT_OUT in str(result) for result in results] == [True, True, True, False]


def open_turn(history: tuple[JsonObject, ...], trying: Trying) -> Turn:
    plan = Plan(run_id="r", conversation_id="c", message_id="m", assistant="a", model="one")
    state = TurnState(
        run_id="r",
        message=Message(id="m"),
        phase="open",
        step=1,
        history=history,
        history_start=len(history),
        trying=trying,
    )
    return Turn(plan=plan, state=state)


def test_a_model_that_finds_it_too_long_is_asked_once_with_less() -> None:
    """REQ-G4 REQ-B20"""
    follow = model_failed(open_turn(talk(6), Trying(tries=1)), TOO_LONG, 1.0)

    assert follow.frames == ({"type": "data-context", "data": {"overflow": True, "truncated": 16}},)
    assert len(follow.turn.state.history) == follow.turn.state.history_start == 25 - 16
    assert follow.turn.state.trying == Trying(tries=1, squeezed=True)
    assert [frame["type"] for frame in model_failed(follow.turn, TOO_LONG, 1.0).frames][:2] == [
        "finish-step",
        "data-error",
    ]


def test_a_window_that_is_full_before_a_word_was_said_is_the_same() -> None:
    """REQ-G3: a stop reason, not an error."""
    full = model_event(open_turn(talk(6), Trying()), Stopped(reason="context_window", content=()))

    assert [frame["type"] for frame in full.frames] == ["data-context"]


def test_how_much_is_remembered_follows_the_profile() -> None:
    """REQ-I15"""
    windows = {name: (limits.history_turns, limits.history_tokens) for name, limits in PROFILES.items()}

    assert windows == {"interactive": (6, 150_000), "kb": (6, 150_000), "agent": (None, 150_000)}


@pytest.mark.parametrize("shown", [True, False])
def test_where_something_was_shown_or_nothing_can_go_it_ends_typed(shown: bool) -> None:
    """REQ-B23"""
    turn = open_turn(talk(6 if shown else 0), Trying())
    turn = model_event(turn, TextDelta("So far")).turn if shown else turn
    follow = model_failed(turn, TOO_LONG, 1.0)

    [error] = [frame["data"]["kind"] for frame in follow.frames if frame["type"] == "data-error"]  # type: ignore[index, call-overload] # data
    assert error == "context_overflow"
