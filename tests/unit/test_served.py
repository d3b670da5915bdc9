"""Tools that the provider runs, and sources: what is shown of them, and what the history keeps."""

import json

from engine.step import model_event
from engine.turn import begin, give_up, stop
from engine.values import Plan, Turn
from protocol.frames import Frame
from protocol.json import JsonObject
from protocol.model import Cited, ModelEvent, ServedCall, ServedResult, Stopped, TextDelta
from providers.served import MAX_SHOWN_BYTES, cited, served_result

HELLO: JsonObject = {"role": "user", "content": [{"type": "text", "text": "Go."}]}
CALL: JsonObject = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"q": 2**60}}
RESULT: JsonObject = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []}
SEARCH = ServedCall("srv", "web_search", {"q": 2**60})
FOUND = ServedResult(id="srv", name="web_search", output=[])
THOUGHT: JsonObject = {"type": "thinking", "thinking": "Hm.", "signature": "s"}


def text(said: str) -> JsonObject:
    return {"type": "text", "text": said}


def turn() -> Turn:
    plan = Plan(run_id="r", conversation_id="c", message_id="m", assistant="a", model="x")
    return begin(plan, (HELLO,)).turn


def fed(now: Turn, *events: ModelEvent) -> tuple[Turn, list[Frame]]:
    frames: list[Frame] = []
    for event in events:
        advance = model_event(now, event)
        now, frames = advance.turn, [*frames, *advance.frames]
    return now, frames


def stopped(reason: str, *content: JsonObject) -> Stopped:
    return Stopped(reason=reason, content=content)  # type: ignore[arg-type] # a word of the list, as each test writes it


def own_history(now: Turn) -> list[list[str]]:
    return [[str(block["type"]) for block in message["content"]] for message in now.state.history[1:]]  # type: ignore[index, union-attr, call-overload] # blocks


def test_a_served_call_is_shown_with_its_result_in_one_step() -> None:
    """[L4] [F8]: nobody decides it, and its numbers are a browser's."""
    _, frames = fed(turn(), TextDelta("So."), SEARCH, FOUND)
    assert frames[2:] == [
        {"type": "text-end", "id": "t1"},
        {
            "type": "tool-input-start", "toolCallId": "s1.0", "toolName": "web_search", "dynamic": True,
            "providerExecuted": True,
        },
        {
            "type": "tool-input-available", "toolCallId": "s1.0", "toolName": "web_search", "input": {"q": str(2**60)},
            "dynamic": True, "providerExecuted": True,
        },
        {
            "type": "tool-output-available", "toolCallId": "s1.0", "output": [], "dynamic": True,
            "providerExecuted": True,
        },
    ]  # fmt: skip


def test_a_call_that_a_pause_left_open_is_shown_again_with_its_result() -> None:
    """[L4] [L9]: one output a call, and a reset never reaches into an earlier step."""
    now, frames = fed(turn(), SEARCH, stopped("pause_turn", CALL))
    assert [frame for frame in frames if frame["type"] == "tool-output-available"] == [
        {
            "type": "tool-output-available", "toolCallId": "s1.0", "output": {"paused": True}, "dynamic": True,
            "providerExecuted": True,
        }
    ]  # fmt: skip
    now, frames = fed(now, FOUND)
    assert [dict(frame).get("toolCallId") for frame in frames] == ["s2.0"] * 3
    assert dict(frames[1])["input"] == {"q": str(2**60)}
    now, _ = fed(now, TextDelta("Found."), stopped("end_turn", RESULT, text("Found.")))
    assert own_history(now) == [["server_tool_use"], ["web_search_tool_result", "text"]]


def test_a_call_that_is_never_answered_leaves_the_history() -> None:
    """FR19: nor does a thought stay at the end of a message."""
    now, _ = fed(turn(), SEARCH, stopped("pause_turn", text("Looking."), THOUGHT, CALL))
    ended = give_up(now, "upstream", "x")
    assert own_history(ended.turn) == [["text"]]
    now, _ = fed(turn(), SEARCH, stopped("pause_turn", THOUGHT, CALL))
    assert own_history(give_up(now, "upstream", "x").turn) == []
    now, _ = fed(turn(), FOUND, TextDelta("Yes."), stopped("end_turn", RESULT, text("Yes.")))
    assert own_history(now) == [["text"]]


def test_a_stop_inside_a_search_closes_it() -> None:
    """[S2] LAW-P1"""
    now, _ = fed(turn(), SEARCH)
    assert {
        "type": "tool-output-error", "toolCallId": "s1.0", "errorText": "Not answered: the turn ended first.",
        "dynamic": True, "providerExecuted": True,
    } in stop(now).frames  # fmt: skip


def test_each_source_is_named_once() -> None:
    """REQ-B12"""
    page = Cited(title="Tides", url="https://example.org")
    _, frames = fed(
        turn(),
        page,
        page,
        Cited(title="", url="https://example.com"),
        Cited(title="Notes"),
        Cited(title="Notes"),
        Cited(title="Book", media_type="application/pdf"),
    )
    assert frames == [
        {"type": "source-url", "sourceId": "src1", "url": "https://example.org", "title": "Tides"},
        {"type": "source-url", "sourceId": "src2", "url": "https://example.com"},
        {"type": "source-document", "sourceId": "src3", "mediaType": "text/plain", "title": "Notes"},
        {"type": "source-document", "sourceId": "src4", "mediaType": "application/pdf", "title": "Book"},
    ]


def test_half_a_character_in_a_result_is_put_right() -> None:
    """FR37"""
    _, frames = fed(turn(), SEARCH, ServedResult(id="srv", name="x", output=["\ud83d"]))
    assert dict(frames[-1])["output"] == ["\N{REPLACEMENT CHARACTER}"]


def test_only_addresses_of_pages_are_shown() -> None:
    """FR75"""
    urls = ["https://example.org/a?b=1", "javascript:alert(1)", "data:text/html,x", "https://a b", "//example.org", ""]
    found = [source.url for url in urls for source in cited({"url": url, "title": "T"})]
    assert found == ["https://example.org/a?b=1", "", "", "", "", ""]
    assert list(cited({"type": "later"})) == list(cited(None)) == []


def test_a_result_is_shown_without_ciphertext_and_within_a_bound() -> None:
    """[E2] [F7]"""
    block: JsonObject = {**RESULT, "content": [{"url": "https://example.org", "encrypted_content": "c2VjcmV0"}]}
    assert served_result(block).output == [{"url": "https://example.org"}]
    large = served_result({**RESULT, "content": "x" * MAX_SHOWN_BYTES})
    assert large.output == {"omitted": "too large to show", "bytes": MAX_SHOWN_BYTES + 2}
    assert len(json.dumps(large.output)) < 100


def test_a_failed_result_is_told_in_our_words() -> None:
    """[E2] REQ-H8"""
    codes = ["max_uses_exceeded", "sk-ant-secret http://10.0.0.1", None]
    failed: list[JsonObject] = [
        {**RESULT, "content": {"type": "web_search_tool_result_error", "error_code": code}} for code in codes
    ]
    failed.append({"type": "mcp_tool_result", "tool_use_id": "srv", "is_error": True, "content": "secret"})
    assert [served_result(block).error for block in failed] == [
        "The tool failed: max uses exceeded.", *["The tool failed: unavailable."] * 3
    ]  # fmt: skip
