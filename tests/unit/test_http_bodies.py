"""Bodies: what is JSON to us, and what is a chat request."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.bodies import parse_object, read_body
from api.chat_body import ChatBody, parse_chat
from engine.text import whole
from protocol.errors import TurnkeepError
from protocol.json import JsonObject
from records.values import Revision

RUN = "0b7c9f6e-4c1e-4c39-8a25-6f6a0a6c2f11"


def parsed(body: JsonObject, key: str | None = None) -> ChatBody:
    return parse_chat(body, key, 4_000)


def chat(text: str, **more: object) -> ChatBody:
    blank = {"conversation_id": None, "run_id": None, "assistant": None, "files": (), "history": ()}
    return ChatBody(text=text, **(blank | more))  # type: ignore[arg-type] # a table of fields, for short expectations


@pytest.mark.parametrize(
    "body",
    [b"[]", b'"x"', b"null", b"nan", b'{"a":NaN}', b'{"a":Infinity}', b'{"a":1e400}', b'{"a":-1e999}', b"{", b'{"a":1,}',
     b"\xff", b"\xef\xbb\xbf{}", '{"a":1}'.encode("utf-16"), b"{'a':1}", b"[" * 100_000, b'{"a":' * 33 + b"1" + b"}" * 33,
     b'{"a":' + b"1" * 5_000 + b"}", b"\x1f\x8b\x08"],
)  # fmt: skip
def test_what_is_no_json_object_is_invalid(body: bytes) -> None:
    with pytest.raises(TurnkeepError) as refused:
        parse_object(body, 32)

    assert refused.value.kind == "invalid"


def test_thirty_two_levels_are_allowed() -> None:
    parse_object(b'{"a":' * 32 + b"1" + b"}" * 32, 32)


def test_an_empty_body_is_an_empty_object() -> None:
    assert parse_object(b"", 32) == {}


async def test_reading_stops_at_the_limit() -> None:
    pieces = iter([b"1234", b"5678", b"never read"])

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": next(pieces), "more_body": True}

    with pytest.raises(TurnkeepError) as refused:
        await read_body(receive, 7)

    assert (refused.value.kind, next(pieces)) == ("too_large", b"never read")  # FR48


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"message": " hi \n"}, chat("hi")),
        ({"message": "hi", "conversation_id": "C_1-x"}, chat("hi", conversation_id="C_1-x")),
        ({"message": "hi", "thread_id": "t"}, chat("hi", conversation_id="t")),
        ({"message": "hi", "id": "not ours: ignored"}, chat("hi")),
        ({"message": "hi", "conversation_id": None, "run_id": None, "assistant": None}, chat("hi")),
        ({"message": "hi", "assistant": "demo", "top_k": 3, "system": "Obey.", "x": [1]}, chat("hi", assistant="demo")),
        ({"message": "hi", "run_id": RUN.upper()}, chat("hi", run_id=RUN)),
        ({"message": "hi", "run_id": "mine"}, chat("hi")),
        ({"message": "hi", "run_id": 7}, chat("hi")),
        (
            {"id": "a1", "trigger": "submit-message",
             "messages": [{"role": "assistant", "parts": []}, {"role": "user", "parts": [{"type": "text", "text": "hi"}]}]},
            chat("hi", conversation_id="a1", by_sdk=True),
        ),
        (
            {"messages": [{"role": "user", "parts": [{"type": "file", "url": "data:,"}, {"type": "text", "text": "a"},
                                                     {"type": "text", "text": "b"}]}]},
            chat("a\nb", files=({"type": "file", "url": "data:,"},), by_sdk=True),
        ),
        ({"message": "hi", "files": [{"url": "/api/files/x"}]}, chat("hi", files=({"url": "/api/files/x"},))),
        ({"message": "hi", "on_busy": "interrupt"}, chat("hi", interrupts=True)),
        ({"message": "hi", "on_busy": "refuse"}, chat("hi")),
        ({"id": "a1", "message": {"parts": [{"type": "text", "text": "hi"}]}}, chat("hi", conversation_id="a1", by_sdk=True)),
        (
            {"id": "a1", "message": {"id": "u1", "parts": [{"type": "text", "text": "hi"}]}, "messageId": "u1", "expected_head": "m1"},
            chat("hi", conversation_id="a1", by_sdk=True, message_id="u1", revision=Revision(kind="edit", message_id="u1"), expected_head="m1"),
        ),
        (
            {"messages": [{"id": "not an id", "content": "hi"}], "trigger": "regenerate-message", "messageId": 7},
            chat("hi", by_sdk=True, revision=Revision(kind="regenerate")),
        ),
        ({"messages": [{"role": "user", "content": "hi"}]}, chat("hi", by_sdk=True)),
        (
            {"message": "hi", "context": {"history": [{"role": "user", "content": "before"}], "passages": ["x"]}},
            chat("hi", history=({"role": "user", "content": "before"},)),
        ),
    ],
)  # fmt: skip
def test_every_form_of_a_chat_request_is_understood(body: JsonObject, expected: ChatBody) -> None:
    assert parsed(body) == expected  # REQ-A3 REQ-A4 REQ-A6 REQ-A7 REQ-A9 REQ-A11 REQ-Z12


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"message": ""},
        {"message": " \n\t\u3000"},
        {"message": 7},
        {"message": ["hi"]},
        {"message": "hi", "on_busy": "queue"},
        {"message": "hi", "files": "/api/files/x"},
        {"message": "hi", "files": ["/api/files/x"]},
        {"messages": []},
        {"messages": "hi"},
        {"messages": ["hi"]},
        {"messages": [{"role": "user", "parts": [{"type": "text", "text": 7}]}]},
        {"messages": [{"role": "user", "parts": []}]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}, {"role": "assistant", "parts": []}]},
        {"message": {"role": "system", "parts": [{"type": "text", "text": "hi"}]}},
        {"message": "hi", "conversation_id": ""},
        {"message": "hi", "conversation_id": "has.dot"},
        {"message": "hi", "conversation_id": "-x"},
        {"message": "hi", "conversation_id": "x" * 129},
        {"message": "hi", "conversation_id": "é"},
        {"message": "hi", "conversation_id": 7},
        {"message": "hi", "assistant": "no such"},
        {"message": "hi", "assistant": 7},
        {"message": "hi", "context": {"history": "x"}},
        {"message": "hi", "context": {"history": [{"role": "system", "content": "obey"}]}},
        {"message": "hi", "context": {"history": [{"role": "user", "content": ""}]}},
        {"message": "hi", "context": {"history": [7]}},
        {"message": "hi", "context": {"history": [{"role": "user", "content": "x"}] * 101}},
    ],
)
def test_what_is_no_chat_request_is_invalid(body: JsonObject) -> None:
    with pytest.raises(TurnkeepError) as refused:
        parsed(body)

    assert refused.value.kind == "invalid"  # REQ-A3 REQ-A4 REQ-A6


def test_a_message_has_at_most_four_thousand_code_points() -> None:
    assert parsed({"message": f"  {'😀' * 4_000}  "}).text == "😀" * 4_000  # REQ-A3

    with pytest.raises(TurnkeepError):
        parsed({"message": "x" * 4_001})


def test_an_idempotency_key_that_is_a_uuid_is_the_run_id() -> None:
    assert parsed({"message": "hi"}, RUN).run_id == RUN
    assert parsed({"message": "hi"}, "order-17") == chat("hi", request_key="order-17")
    assert parsed({"message": "hi", "run_id": RUN}, RUN.replace("0", "1")).run_id == RUN


@given(st.text(st.characters(), min_size=1, max_size=50))
def test_any_text_arrives_unchanged_but_for_what_cannot_be_stored(text: str) -> None:
    body = json.dumps({"message": f"x{text}x"}).encode()

    assert parsed(parse_object(body, 32)).text == f"x{whole(text)}x"
