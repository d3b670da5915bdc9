"""The history a model is sent."""

from hypothesis import given
from hypothesis import strategies as st

from engine.history import Said, reconstruct
from protocol.json import JsonObject

ANSWER: tuple[JsonObject, ...] = (
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "add", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": []}]},
    {"role": "assistant", "content": [{"type": "text", "text": "5"}]},
)


def text(*texts: str) -> list[JsonObject]:
    return [{"type": "text", "text": one} for one in texts]


def test_a_past_turn_is_sent_as_it_went_to_the_model() -> None:
    said = [Said("user", "2 and 3?"), Said("assistant", "5", ANSWER)]

    assert reconstruct(said, "and 4?", turns=None) == (
        {"role": "user", "content": text("2 and 3?")},
        *ANSWER,
        {"role": "user", "content": text("and 4?")},
    )


def test_a_question_that_was_never_answered_joins_the_next() -> None:
    """REQ-I15 REQ-O14"""
    said = [Said("user", "hello?"), Said("user", "anyone?")]

    assert reconstruct(said, "please", turns=6) == ({"role": "user", "content": text("hello?", "anyone?", "please")},)


def test_the_window_counts_questions_and_zero_sends_none() -> None:
    said = [Said("user", "1"), Said("assistant", "a"), Said("user", "2"), Said("assistant", "b")]

    assert reconstruct(said, "3", turns=1) == (
        {"role": "user", "content": text("2")},
        {"role": "assistant", "content": text("b")},
        {"role": "user", "content": text("3")},
    )
    assert reconstruct(said, "3", turns=0) == ({"role": "user", "content": text("3")},)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(min_size=1))), st.none() | st.integers(0, 9))
def test_roles_alternate_from_user_to_user_once_the_first_question_is_in(
    said: list[tuple[str, str]], turns: int | None
) -> None:
    """REQ-H6"""
    questions_first = [Said("user", "first"), *(Said(role, words) for role, words in said if role == "user")]
    messages = reconstruct(questions_first, "last", turns=turns)

    assert [message["role"] for message in messages] == ["user"]


def test_what_a_client_calls_an_answer_cannot_open_the_history() -> None:
    assert reconstruct([Said("assistant", "I promised")], "keep it", turns=None) == (
        {"role": "user", "content": text("keep it")},
    )
