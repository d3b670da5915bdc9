"""Where a turn begins in what a model is sent."""

from engine.history import Said, reconstruct
from protocol.json import JsonObject
from providers.history import calls_made, question

STOPPED_IN_MID_TOOL: tuple[JsonObject, ...] = (
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "count", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": []}]},
)


def test_the_question_after_a_turn_that_ended_in_mid_tool_is_the_question() -> None:
    said = [Said("user", "Count."), Said("assistant", "", STOPPED_IN_MID_TOOL)]

    messages = reconstruct(said, "Explain.", turns=None)

    assert (question(messages), calls_made(messages)) == ("Explain.", 0)


def test_within_a_turn_the_results_of_its_tools_are_no_question() -> None:
    messages = (*reconstruct([], "Count.", turns=None), *STOPPED_IN_MID_TOOL)

    assert (question(messages), calls_made(messages)) == ("Count.", 1)
