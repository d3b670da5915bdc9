"""One streamed message, put together without a network: characters, digits and blocks survive any cut."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from protocol.model import BlockEnded, ModelEvent, Stopped, TextDelta, ThinkingDelta, ToolInputDelta, Usage
from providers.assembly import Assembly
from tests.fakes.anthropic_upstream import Event, block, spoken, text, thinking, tool_use

USAGE = Usage(input_tokens=10, output_tokens=9, cache_read_tokens=4, cache_write_tokens=3)


def fed(events: list[Event]) -> tuple[list[ModelEvent], Stopped | None]:
    assembly = Assembly()
    # Through JSON, as from a wire: a lone half of a surrogate pair survives it.
    shown = [seen for event in events for seen in assembly.feed(json.loads(json.dumps(event)))]
    return shown, assembly.finished()


def test_every_block_is_streamed_and_kept_as_it_was_sent() -> None:
    """M4: redacted and unknown blocks too, and nothing that was not sent."""
    redacted: Event = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    strange: Event = {"type": "server_note", "note": {"depth": [1, None]}, "said": "a", "caller": None}
    shown, stopped = fed(
        spoken(
            thinking("Two ", "steps.", signature="c2ln"),
            block(redacted),
            text("Let me ", "look."),
            block(strange, {"type": "note_delta", "said": "b", "more": 1}, {"type": "note_delta", "more": 2}),
            tool_use("toolu_1", "find", "", '{"q": "é', '"}'),
            tool_use("toolu_2", "find"),
            reason="tool_use",
        )
    )
    assert shown == [
        ThinkingDelta("Two "),
        ThinkingDelta("steps."),
        BlockEnded("c2ln"),
        TextDelta("Let me "),
        TextDelta("look."),
        BlockEnded(),
        ToolInputDelta("toolu_1", "find", ""),
        ToolInputDelta("toolu_1", "find", '{"q": "é'),
        ToolInputDelta("toolu_1", "find", '"}'),
        BlockEnded(),
        ToolInputDelta("toolu_2", "find", ""),
        BlockEnded(),
    ]
    assert stopped == Stopped(
        reason="tool_use",
        content=(
            {"type": "thinking", "thinking": "Two steps.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            {"type": "text", "text": "Let me look."},
            {"type": "server_note", "note": {"depth": [1, None]}, "said": "ab", "more": 2},
            {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"q": "é"}},
            {"type": "tool_use", "id": "toolu_2", "name": "find", "input": {}},
        ),
        usage=USAGE,
        model="claude-x-1",
    )


def test_thinking_that_is_not_shown_keeps_its_signature() -> None:
    shown, stopped = fed(spoken(thinking(signature="c2ln"), text("Yes.")))
    assert shown == [TextDelta("Yes."), BlockEnded()]
    assert stopped is not None
    assert stopped.content[0] == {"type": "thinking", "thinking": "", "signature": "c2ln"}


def test_an_input_sent_whole_with_the_start_is_streamed_too() -> None:
    whole: Event = {"type": "tool_use", "id": "a", "name": "find", "input": {"id": 2512292042121000001}}
    shown, stopped = fed(spoken(block(whole), reason="tool_use"))
    assert shown == [
        ToolInputDelta("a", "find", ""),
        ToolInputDelta("a", "find", '{"id": 2512292042121000001}'),
        BlockEnded(),
    ]
    assert stopped is not None
    assert stopped.content == (whole,)


def test_text_that_providers_refuse_is_not_kept() -> None:
    _, stopped = fed(spoken(text(), text("\n\n"), text("Yes.")))
    assert stopped is not None
    assert stopped.content == ({"type": "text", "text": "Yes."},)


def test_digits_of_an_input_are_exact_and_unusable_input_is_left_to_its_fragments() -> None:
    """FR41"""
    inputs = ['{"id":2512292042121000001,"a":1,"a":2}', '{"n":1' + "0" * 4500 + "}", '{"n":1e400}', '{"n":[1,2', "[1]"]
    inputs += ['{"n":NaN}', '{"s":"\\ud83d"}', "[" * 100_000]
    _, stopped = fed(spoken(*(tool_use(str(at), "find", raw) for at, raw in enumerate(inputs)), reason="max_tokens"))
    assert stopped is not None
    assert [kept["input"] for kept in stopped.content] == [{"id": 2512292042121000001, "a": 2}, *[{}] * 7]


def test_a_message_without_end_or_reason_is_not_finished() -> None:
    """M1"""
    events = spoken(text("Half"))
    assert fed(events[:-1])[1] is None
    assert fed(spoken(text("Whole"), reason=None))[1] is None


def test_every_stop_reason_is_one_of_ours() -> None:
    ours = {
        reason: stopped.reason
        for reason in ("end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal",
                       "model_context_window_exceeded", "of_a_later_day")
        if (stopped := fed(spoken(text("x"), reason=reason))[1])
    }  # fmt: skip
    assert ours == {
        **{reason: reason for reason in ("end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal")},
        "model_context_window_exceeded": "context_window",
        "of_a_later_day": "end_turn",
    }  # fmt: skip


halves = st.text(st.sampled_from("ab你🌍é \ud83d\ude00"), max_size=12)


@given(st.lists(halves))
def test_no_delta_ends_inside_a_character(deltas: list[str]) -> None:
    """M5, FR40: a pair of surrogates is one character, also when a gateway cut it in two."""
    shown, stopped = fed(spoken(text(*deltas)))
    pieces = [event.text for event in shown if isinstance(event, TextDelta)]
    whole = json.loads(json.dumps("".join(deltas))).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert "".join(pieces) == whole
    assert all(piece.encode() for piece in pieces)
    assert stopped is not None
    assert stopped.content == (({"type": "text", "text": whole},) if whole.strip() else ())


@given(st.lists(st.integers(0, 60)))
def test_an_input_may_be_cut_anywhere(cuts: list[int]) -> None:
    raw = '{"path": "你好🌍", "id": 2512292042121000001, "deep": [[1.5]]}'
    places = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    shown, stopped = fed(spoken(tool_use("a", "read", *(raw[at:to] for at, to in pairwise(places))), reason="tool_use"))
    assert "".join(event.json for event in shown if isinstance(event, ToolInputDelta)) == raw
    assert stopped is not None
    assert stopped.content[0]["input"] == {"path": "你好🌍", "id": 2512292042121000001, "deep": [[1.5]]}
