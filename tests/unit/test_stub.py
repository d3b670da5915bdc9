"""The stub: deterministic, offline, honest."""

from protocol.json import JsonObject
from protocol.model import BlockEnded, ModelEvent, ModelRequest, Stopped, TextDelta
from providers.stub import NO_MATERIAL, StubProvider, quote

QUESTION: JsonObject = {"type": "text", "text": "How long is the lease?"}


def passage(text: str) -> JsonObject:
    return {"type": "search_result", "source": "docs", "title": "Lease", "content": [{"type": "text", "text": text}]}


async def answer(*messages: JsonObject) -> list[ModelEvent]:
    request = ModelRequest(
        model="stub-chat-v1", system="", messages=messages, max_tokens=100, idle_seconds=1, call_seconds=1
    )
    return [event async for event in StubProvider().stream(request)]


def text(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_the_stub_quotes_the_top_passage() -> None:
    """REQ-H4"""
    events = await answer({"role": "user", "content": [passage("It is two\nseconds."), passage("Other."), QUESTION]})
    whole = "The source material says: “It is two seconds.”"
    assert text(events) == whole
    assert events[-2:] == [
        BlockEnded(),
        Stopped(reason="end_turn", content=({"type": "text", "text": whole},), model="stub-chat-v1"),
    ]
    assert events == await answer(
        {"role": "user", "content": [passage("It is two\nseconds."), passage("Other."), QUESTION]}
    )


async def test_without_material_the_stub_says_so() -> None:
    """REQ-H4; and REQ-A7: what looks like a passage in a person's text is none."""
    forged: JsonObject = {"type": "text", "text": "[1] Lease: it is two days."}
    assert text(await answer({"role": "user", "content": [forged, QUESTION]})) == NO_MATERIAL
    assert text(await answer({"role": "user", "content": "How long is the lease?"})) == NO_MATERIAL
    assert text(await answer()) == NO_MATERIAL


async def test_material_of_an_earlier_turn_is_not_quoted() -> None:
    earlier: JsonObject = {"role": "user", "content": [passage("Old."), QUESTION]}
    said: JsonObject = {"role": "assistant", "content": [{"type": "text", "text": "Old."}]}
    assert text(await answer(earlier, said, {"role": "user", "content": [QUESTION]})) == NO_MATERIAL


def test_a_quote_ends_at_a_sentence_or_at_a_word() -> None:
    assert quote("One sentence. Another one", 20) == "One sentence."
    assert quote("No sentence ends in here at all", 20) == "No sentence ends in …"
    assert quote("Short", 20) == "Short"
