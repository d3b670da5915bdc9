import json
from functools import reduce
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.fold import fold
from frames import sse
from frames.replay import frames_of
from protocol.checkpoint import Message
from protocol.frames import Frame, data
from protocol.json import JsonObject
from protocol.turn import RunStatus
from tests.client_cases import fold_case

TURNS = Path(__file__).parents[1] / "golden" / "turns"
LOGS = {path.name.split(".")[0]: path for path in sorted(TURNS.parent.glob("*/*.frames.jsonl"))}
NO_ANSWER: Frame = {"type": "error", "errorText": "The run ended without an answer."}

TEXTS = st.fixed_dictionaries({"type": st.just("text"), "text": st.text(), "state": st.just("done")})
THOUGHTS = st.fixed_dictionaries(
    {"type": st.just("reasoning"), "text": st.text(), "state": st.just("done")},
    optional={"providerMetadata": st.just({"anthropic": {"signature": "c2ln"}})},
)
VALUES = st.none() | st.integers() | st.text() | st.dictionaries(st.text(), st.integers(), max_size=2)
CALL = {"type": st.just("dynamic-tool"), "toolName": st.sampled_from(("find", "send"))}
TOOLS = st.one_of(
    st.fixed_dictionaries({**CALL, "state": st.just("input-streaming")}),
    st.fixed_dictionaries({**CALL, "state": st.just("input-available"), "input": VALUES}),
    st.fixed_dictionaries({**CALL, "state": st.just("output-available"), "input": VALUES, "output": VALUES}),
    st.fixed_dictionaries({**CALL, "state": st.just("output-error"), "input": VALUES, "errorText": st.text()}),
    st.fixed_dictionaries({**CALL, "state": st.just("output-error"), "errorText": st.text()}),
)
OTHERS: list[JsonObject] = [
    {"type": "step-start"},
    {"type": "data-artifact", "data": {"a": 1}},
    {"type": "data-usage", "data": {"steps": 1}},
    {"type": "data-error", "data": {"kind": "upstream", "message": "No.", "retryable": True}},
    {"type": "source-url", "sourceId": "s1", "url": "https://example.org"},
]
PARTS = st.lists(TEXTS | THOUGHTS | TOOLS | st.sampled_from(OTHERS), max_size=12)
STATUSES: st.SearchStrategy[RunStatus] = st.sampled_from(("completed", "failed", "stopped", "interrupted"))


def folded(frames: tuple[Frame, ...] | list[Frame]) -> Message:
    return reduce(fold, frames, Message(id=""))


def message_of(parts: list[dict[str, Any]]) -> Message:
    named = [part | ({"toolCallId": f"c1.{at}"} if "toolName" in part else {}) for at, part in enumerate(parts)]
    return Message(id="msg_1", parts=tuple(named))


@given(parts=PARTS, status=STATUSES, kind=st.sampled_from(("", "upstream", "max_tokens")))
def test_folding_a_replay_gives_the_message_back(parts: list[dict[str, Any]], status: RunStatus, kind: str) -> None:
    """LAW-P2"""
    message = message_of(parts)
    frames = frames_of(message, status=status, kind=kind, model="m")
    assert folded(frames) == message
    assert [frame["type"] for frame in frames].count("finish") == 1
    assert (frames[0]["type"], frames[-1]["type"]) == ("start", "finish")


@pytest.mark.parametrize("name", LOGS)
def test_a_replay_ends_as_the_run_did(name: str) -> None:
    """LAW-P2"""
    log: list[Frame] = [json.loads(line) for line in LOGS[name].read_text().splitlines()]
    told = {frame["type"]: cast("dict[str, Any]", frame).get("data", {}) for frame in log}
    reply, kind = told["data-reply"], told.get("data-error", {}).get("kind", "")
    replay = frames_of(folded(log), status=reply["outcome"], kind=kind, model=reply["model"])
    assert folded(replay) == folded(log)
    assert after_steps(replay) == after_steps(log)


def after_steps(frames: tuple[Frame, ...] | list[Frame]) -> list[Frame]:
    last = max(at for at, frame in enumerate(frames) if frame["type"] == "finish-step")
    return list(frames[last:])


def test_a_long_text_fits_into_frames() -> None:
    message = message_of([{"type": "step-start"}, {"type": "text", "text": "🌍" * 100_000, "state": "done"}])
    frames = frames_of(message, status="completed", model="m")
    assert max(len(sse.encode(index, frame)) for index, frame in enumerate(frames)) < sse.FRAME_BYTES
    assert folded(frames) == message


@pytest.mark.parametrize(
    ("status", "kind", "told", "reason"),
    [
        ("completed", "", [], "stop"),
        ("stopped", "stopped", [{"type": "abort", "reason": "stopped"}], "other"),
        ("interrupted", "interrupted", [NO_ANSWER], "error"),
        ("failed", "refused", [NO_ANSWER], "content-filter"),
    ],
)
def test_a_run_without_an_answer_still_ends(status: RunStatus, kind: str, told: list[Frame], reason: str) -> None:
    """FR06"""
    frames = frames_of(Message(id="msg_1"), status=status, kind=kind, model="m")
    assert list(frames) == [
        {"type": "start", "messageId": "msg_1"},
        *told,
        data("reply", {"stored": True, "model": "m", "grounded": False, "outcome": status}),
        {"type": "finish", "finishReason": reason},
    ]


def test_a_replay_keeps_who_made_a_call() -> None:
    """LAW-P2: the provider's own calls stay its own."""
    case = fold_case("served")
    message = Message.model_validate(case.message)

    assert folded(list(frames_of(message, status="completed"))) == message
