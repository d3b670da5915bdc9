"""Logs carry ids and places, never words of a person and nothing that opens a door."""

import io
import json
import logging
from collections.abc import Callable, Iterator

import pytest

from app.alerts import Alerts
from app.logs import configure_logs
from app.metrics import Metrics
from app.observe import HttpMeter, RunObserver
from app.settings import Settings
from frames.tokens import HandleClaims, Handles, KeyRing

RUN = "0b54aa4e-7d6f-4e8f-8f5b-52a1a5f5a001"
Lines = Callable[[], list[dict[str, object]]]


@pytest.fixture
def lines() -> Iterator[Lines]:
    root = logging.getLogger()
    before, level, stream = root.handlers, root.level, io.StringIO()
    configure_logs(Settings.read({"TURNKEEP_LOG_FORMAT": "json"}), "api", stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers = before
    root.setLevel(level)


def without_time(line: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in line.items() if name != "timestamp"}


def test_a_line_is_an_object_with_its_run(lines: Lines) -> None:
    RunObserver(Metrics(), Alerts("")).handed_over(RUN, "budget")

    assert [without_time(line) for line in lines()] == [
        {
            "event": "handed over",
            "level": "info",
            "logger": "app.observe",
            "role": "api",
            "run_id": RUN,
            "reason": "budget",
        }
    ]


def test_an_exceptions_words_are_dropped_and_its_places_kept(lines: Lines) -> None:
    try:
        int("what a person wrote")
    except ValueError:
        logging.getLogger("a.library").exception("Something went wrong")

    (line,) = lines()
    assert "wrote" not in json.dumps(line)
    assert line["exception"] == "ValueError"
    assert "test_logs.py" in str(line["where"])


def test_what_opens_a_door_is_blacked_out(lines: Lines) -> None:
    handle = Handles(KeyRing([b"k" * 32])).mint(HandleClaims(run_id=RUN, owner="o", sdk=7))

    logging.getLogger("x").warning("GET /api/chat/%s/stream", handle, extra={"key": "sk-ant-api03-abcdef"})  # REQ-W3

    (line,) = lines()
    assert (line["event"], line["key"]) == ("GET /api/chat/…/stream", "…")


def test_an_answer_is_logged_by_the_name_of_its_route(lines: Lines) -> None:
    meter = HttpMeter(Metrics())
    meter.answered("readyz", 200, 1)
    meter.answered("readyz", 500, 1)
    meter.answered("read", 200, 7)

    assert [(line["route"], line["status"], line["ms"]) for line in lines()] == [("readyz", 500, 1), ("read", 200, 7)]
