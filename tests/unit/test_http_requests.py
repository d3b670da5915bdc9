"""Query, cursor and Accept, parsed strictly."""

import pytest
from starlette.datastructures import Headers

from api.requests import Cursor, parse_cursor, parse_query, parse_sdk, parse_wire, wants_stream
from protocol.errors import TurnkeepError


def headers(*pairs: tuple[str, str]) -> Headers:
    return Headers(raw=[(name.encode(), value.encode()) for name, value in pairs])


def cursor(query: str, *pairs: tuple[str, str]) -> Cursor | None:
    return parse_cursor(parse_query(query.encode()), headers(*pairs))


@pytest.mark.parametrize(
    ("query", "index"), [("startIndex=0", 0), ("startIndex=17", 17), ("startIndex=-5", -5), ("other=x", None)]
)
def test_an_index_is_read_in_its_one_spelling(query: str, index: int | None) -> None:
    assert cursor(query) == (None if index is None else Cursor(index))  # FR05


@pytest.mark.parametrize(
    "value",
    ["-0", "+5", "00", "05", "1e3", "0x10", "%207", "7%20", "%D9%A3", "9223372036854775808", "", "NaN", "3.0", "1_0",
     "--1", "-", "null", "%00", "1%0A"],
)  # fmt: skip
def test_every_other_spelling_is_refused(value: str) -> None:
    with pytest.raises(TurnkeepError) as refused:
        cursor(f"startIndex={value}")

    assert refused.value.kind == "invalid"  # FR05


@pytest.mark.parametrize("query", ["startIndex=1&startIndex=5", "startIndex=1&startIndex=1", "runId=a&runId=b"])
def test_a_parameter_given_twice_is_refused(query: str) -> None:
    with pytest.raises(TurnkeepError, match="twice"):
        parse_query(query.encode())  # FR05


def test_the_last_event_beats_the_start_index() -> None:
    assert cursor("startIndex=3", ("last-event-id", "9")) == Cursor(10, by_event_id=True)  # C19


@pytest.mark.parametrize("value", ["", "-1", "a", "1.0", " 1", "01"])
def test_a_last_event_that_is_no_index_is_refused(value: str) -> None:
    with pytest.raises(TurnkeepError):
        cursor("", ("last-event-id", value))


def test_a_last_event_given_twice_is_refused() -> None:
    with pytest.raises(TurnkeepError):
        cursor("", ("last-event-id", "1"), ("last-event-id", "1"))


@pytest.mark.parametrize(
    ("accept", "streams"),
    [
        (None, True),
        ("", True),
        ("*/*", True),
        ("text/event-stream", True),
        ("TEXT/Event-Stream; charset=utf-8", True),
        ("text/*", True),
        ("application/json, text/event-stream;q=0.1", True),
        ("application/json;q=0.9, */*;q=0.1", True),
        ("application/json", False),
        ("text/html", False),
        ("text/event-stream;q=0", False),
        ("text/event-stream;q=0, */*", False),
        ("*/*;q=0", False),
        ("text/*;q=0, */*", False),
        ("text/event-stream;q=zero", True),
        ("text/event-streams", False),
    ],
)
def test_accept_decides_between_a_stream_and_one_body(accept: str | None, streams: bool) -> None:
    sent = headers() if accept is None else headers(("accept", accept))

    assert wants_stream({}, sent) is streams  # REQ-A2
    assert wants_stream({"stream": "0"}, sent) is False  # REQ-A1
    assert wants_stream({"stream": "1"}, sent) is True


def test_two_accept_headers_count_as_one() -> None:
    assert wants_stream({}, headers(("accept", "application/json"), ("accept", "text/event-stream")))


@pytest.mark.parametrize("query", ["sdk=8", "sdk=06", "sdk=", "wire=xml", "stream=true", "stream="])
def test_unknown_choices_are_refused(query: str) -> None:
    parsed = parse_query(query.encode())

    with pytest.raises(TurnkeepError):
        (parse_sdk(parsed, headers()), parse_wire(parsed), wants_stream(parsed, headers()))


def test_choices_left_out_have_defaults() -> None:
    assert (parse_sdk({}, headers()), parse_wire({})) == (None, "events")
    assert (parse_sdk({"sdk": "5"}, headers()), parse_wire({"wire": "data"})) == (5, "data")
