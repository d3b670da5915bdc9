"""A stored history is always one that a provider takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.history import Said, mended, reconstruct
from engine.repair import INTERRUPTED, repaired
from protocol.json import Json, JsonObject
from providers.script import parse_script
from records.records import Records
from tests.golden.test_turns import NAMES, script_of
from tests.history_rules import broken_rules
from tests.rig import Rig

SECOND = "00000000-0000-4000-8000-000000000002"
AGAIN = parse_script(
    '{"v":1,"name":"again","input":"Go on."}\n{"events":[{"type":"text","text":"Yes."},{"type":"stop"}]}'
)

ids = st.sampled_from(["a", "b", "a_2", "c"])
texts = st.sampled_from(["", " \n", "word", "\ud7ff"])
inner: st.SearchStrategy[Json] = st.one_of(
    texts, st.lists(texts.map(lambda text: {"type": "text", "text": text}), max_size=2)
)
blocks: st.SearchStrategy[JsonObject] = st.one_of(
    texts.map(lambda text: {"type": "text", "text": text}),
    st.sampled_from(["", "s"]).map(lambda signature: {"type": "thinking", "thinking": "Hm.", "signature": signature}),
    st.just({"type": "thinking", "thinking": "Hm."}),
    st.sampled_from(["", "x"]).map(lambda payload: {"type": "redacted_thinking", "data": payload}),
    st.builds(
        lambda one, given: {"type": "tool_use", "id": one, "name": "add", "input": given},
        ids,
        st.sampled_from([{}, "{"]),
    ),
    st.builds(lambda one, content: {"type": "tool_result", "tool_use_id": one, "content": content}, ids, inner),
    ids.map(lambda one: {"type": "server_tool_use", "id": one, "name": "web_search", "input": {}}),
    ids.map(lambda one: {"type": "web_search_tool_result", "tool_use_id": one, "content": []}),
    st.just({"type": "of_a_later_day", "value": 1}),
)
messages: st.SearchStrategy[JsonObject] = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant", "assistant"]),
    st.one_of(texts, st.lists(blocks, max_size=4)),
)
turns = st.lists(st.tuples(texts, st.lists(messages, max_size=5)), max_size=4)


def spoken(*content: JsonObject, role: str = "assistant") -> JsonObject:
    return {"role": role, "content": [*content]}


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def call(one: str) -> JsonObject:
    return {"type": "tool_use", "id": one, "name": "add", "input": {}}


def result(one: str, words: str = "5", **more: Json) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": one, "content": [text(words)], **more}


@given(turns, st.none() | st.integers(0, 3))
def test_whatever_is_stored_the_next_request_is_accepted(
    stored: list[tuple[str, list[JsonObject]]], window: int | None
) -> None:
    """FR19 FR20: by rules that were written from the provider's documentation."""
    said = [
        one for question, answer in stored for one in (Said("user", question), Said("assistant", "text", tuple(answer)))
    ]

    asked = reconstruct(mended(said), "And now?", turns=window)

    assert broken_rules(asked) == []


@given(turns)
def test_a_repaired_history_needs_no_repair(stored: list[tuple[str, list[JsonObject]]]) -> None:
    once = mended([Said("assistant", "", tuple(answer)) for _, answer in stored])

    assert [after is before for before, after in zip(once, mended(once), strict=True)] == [True] * len(once)


@pytest.mark.parametrize(
    ("stored", "kept"),
    [
        ([spoken(call("a"))], [spoken(call("a")), spoken(result("a", INTERRUPTED, is_error=True), role="user")]),
        (
            [spoken(call("a"), call("b")), spoken(result("b"), text("Stop."), role="user")],
            [
                spoken(call("a"), call("b")),
                spoken(result("a", INTERRUPTED, is_error=True), result("b"), text("Stop."), role="user"),
            ],
        ),
        (
            [spoken(text("One.")), spoken(result("a"), text("Two."), role="user")],
            [spoken(text("One.")), spoken(text("Two."), role="user")],
        ),
        ([spoken(text(" "), text("One."))], [spoken(text("One."))]),
        ([spoken(text("")), spoken()], []),
        ([spoken({"type": "thinking", "thinking": "Hm."}, text("One."))], [spoken(text("One."))]),
        ([spoken(text("One."), {"type": "thinking", "thinking": "Hm.", "signature": "s"})], [spoken(text("One."))]),
        ([{"role": "assistant", "content": "One."}], [spoken(text("One."))]),
    ],
    ids=["no result", "one of two results", "no call", "blank", "nothing", "unsigned", "thoughts last", "plain"],
)
def test_what_is_wrong_is_put_right_and_nothing_else(stored: list[JsonObject], kept: list[JsonObject]) -> None:
    assert repaired(tuple(stored)) == tuple(kept)


def test_an_id_that_was_used_before_becomes_another_in_call_and_result() -> None:
    turn = (spoken(call("a")), spoken(result("a"), role="user"), spoken(text("5")))

    _, second = mended([Said("assistant", "", turn), Said("assistant", "", turn)])

    assert second.provider == (spoken(call("a_2")), spoken(result("a_2"), role="user"), spoken(text("5")))


@pytest.mark.parametrize("name", NAMES)
async def test_what_a_turn_of_ours_stores_needs_no_repair(name: str) -> None:
    async with await Records.in_memory() as records:
        rig = Rig(records=records)
        await rig.begin(script_of(name).input)
        await rig.run(script_of(name))
        stored = await records.history("", "talk", 3, None)
        said = [Said(one.role, "", one.provider) for one in stored]

    assert [one is before for one, before in zip(mended(said), said, strict=True)] == [True] * len(said)
    assert broken_rules(reconstruct(said, "And now?", turns=None)) == []
