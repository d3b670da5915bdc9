"""Stopping by the Python client: recorded by the server or not stopped."""

from dataclasses import replace

from turnkeep_client.run import stop_steps
from turnkeep_client.steps import Pause, Reply, Send

from tests.client_cases import RUN_ID, client_cases, fold_case
from tests.scripted_shell import ScriptedShell, reading_of

CASES = client_cases()


def stop_with(statuses: list[int], handle: str = "run.h1") -> tuple[list[str], list[float], bool, bool]:
    """Play a stop: the paths asked, the pauses, what it returned, whether the reading knows."""
    reading = reading_of(CASES["undisturbed"])
    reading.place.handle = handle
    paths: list[str] = []
    pauses: list[float] = []
    steps, answer = stop_steps(reading), None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as stop:
            return paths, pauses, stop.value, reading.stopped
        answer = None
        if isinstance(step, Send):
            paths.append(step.path)
            status = statuses.pop(0)
            answer = Reply(status, {}) if status else None
        elif isinstance(step, Pause):
            pauses.append(step.seconds)


def test_a_stop_is_confirmed_by_the_server() -> None:
    assert stop_with([200]) == (["/api/chat/run.h1/stop"], [], True, True)


def test_a_stop_that_does_not_get_through_is_sent_again_a_bounded_number_of_times() -> None:
    paths, pauses, confirmed, known = stop_with([0, 503, 0, 0, 0])

    assert (len(paths), pauses, confirmed, known) == (5, [0.25, 0.5, 1.0, 2.0, 4.0], False, False)


def test_a_stop_that_is_refused_is_not_sent_again() -> None:
    assert stop_with([403])[2:] == (False, False)


def test_a_stop_that_overtakes_the_question_goes_by_the_run_id() -> None:
    assert stop_with([404, 200], handle="") == ([f"/api/chat/{RUN_ID}/stop"] * 2, [0.25], True, True)


def test_after_a_confirmed_stop_a_cut_is_come_back_to_once_and_the_picture_settled() -> None:
    whole = len(fold_case("unfinished").frames)
    cut = {**CASES["cuts"].exchanges[0], "frames": [[0, whole]]}
    again = {"request": f"GET /api/chat/run.h1/stream?startIndex={whole}", "status": 0}
    reading = reading_of(CASES["cuts"])

    ScriptedShell(replace(CASES["cuts"], fold="unfinished", exchanges=[cut, again]), stopped_at=whole - 1).run(reading)

    assert reading.outcome == "stopped"
    assert reading.place.message is not None
    assert reading.place.message["parts"] == [
        {"type": "step-start"},
        {"type": "reasoning", "text": "Hm.", "state": "done"},
        {"type": "text", "text": "So far", "state": "done"},
    ]
