"""Every fold there is, the server's and both clients', gives the same message (LAW-P2). The page's is in tests/web."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from turnkeep_client import fold as client_fold

from engine import fold as engine_fold
from protocol.checkpoint import Message
from protocol.frames import Frame
from tests.client_cases import FoldCase, fold_cases, folded

CASES = fold_cases()


def by_the_engine(frames: list[dict[str, Any]]) -> dict[str, Any]:
    message = Message(id="")
    for frame in frames:
        message = engine_fold.fold(message, cast("Frame", frame))
    return message.model_dump(mode="json")


@pytest.mark.parametrize("fold", [by_the_engine, folded], ids=["engine", "client"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_fold_gives_the_written_message(
    case: FoldCase, fold: Callable[[list[dict[str, Any]]], dict[str, Any]]
) -> None:
    assert fold(case.frames) == case.message


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_folding_never_changes_a_message_in_place(case: FoldCase) -> None:
    kept = []
    message = client_fold.empty()
    for frame in case.frames:
        kept.append((message, repr(message)))
        message = client_fold.fold(message, frame)

    assert [repr(message) for message, _ in kept] == [before for _, before in kept]


def test_settling_closes_what_is_open() -> None:
    settled = client_fold.settle(folded(CASES["unfinished"].frames))

    assert [part.get("state") for part in settled["parts"]] == [None, "done", "done"]


def test_a_delta_without_its_part_is_an_error() -> None:
    with pytest.raises(ValueError, match="not open"):
        client_fold.fold(client_fold.empty(), {"type": "text-delta", "id": "t1", "delta": "x"})
