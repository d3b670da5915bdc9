"""Checkpoints: what was written is what is read, and a delta costs what the step added."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import checkpoint
from protocol.checkpoint import Message, ToolCall, TurnState
from protocol.json import JsonObject
from protocol.model import Usage

CHANGES = st.lists(
    st.tuples(st.text(max_size=30), st.integers(0, 2**70), st.sampled_from(["grow", "replace", "cut"])), max_size=8
)


def changed(state: TurnState, text: str, number: int, how: str) -> TurnState:
    part: JsonObject = {"type": "text", "text": text, "n": number}
    parts = state.message.parts
    parts = {"grow": (*parts, part), "replace": (*parts[:-1], part), "cut": parts[:-1]}[how]
    return state.model_copy(
        update={
            "message": state.message.model_copy(update={"parts": parts}),
            "history": (*state.history, {"role": "user", "content": text}),
            "step": state.step + 1,
            "usage": Usage(input_tokens=number),
            "calls": (ToolCall(step=1, ordinal=0, id="c1.0", provider_id="p", name=text, input={"n": number}),),
        }
    )


@given(CHANGES)
def test_a_base_and_its_deltas_give_the_state_back(changes: list[tuple[str, int, str]]) -> None:
    """REQ-D4"""
    state = TurnState(run_id="r", message=Message(id="m"))
    documents = [checkpoint.snapshot(state)]
    for text, number, how in changes:
        before, state = state, changed(state, text, number, how)
        documents.append(checkpoint.delta(before, state))

    assert checkpoint.restore(tuple(documents)) == state


def test_a_delta_costs_what_the_step_added() -> None:
    long = tuple({"role": "user", "content": "word " * 2000} for _ in range(100))
    before = TurnState(run_id="r", message=Message(id="m"), history=long)
    after = before.model_copy(update={"history": (*long, {"role": "user", "content": "more"})})

    assert len(checkpoint.delta(before, after)) < 1_000


def test_fields_of_a_newer_build_are_ignored_and_an_unknown_version_is_refused() -> None:
    document = json.loads(checkpoint.snapshot(TurnState(run_id="r", message=Message(id="m"))))
    document["state"]["invented_later"] = 1
    newer = json.dumps(document).encode()

    assert checkpoint.restore((newer,)).run_id == "r"
    with pytest.raises(ValueError, match="version 2"):
        checkpoint.restore((json.dumps(document | {"v": 2}).encode(),))
