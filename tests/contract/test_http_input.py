"""What a person says to a run under way, over HTTP."""

from collections.abc import AsyncIterator

import pytest

from checkpoints.budget import MAX_INPUTS
from protocol.json import JsonObject
from tests.contract.asking import (
    ANSWER,
    APPROVE,
    ASKED,
    DENY,
    INPUT,
    RUN,
    asked,
    asking_house,
    continued,
    parked,
    status,
)
from tests.contract.http_house import House, error, frame, pieces, reading, types
from tests.waiting import say


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with asking_house() as opened:
        yield opened


async def test_a_run_waits_and_goes_on_in_the_same_stream(house: House) -> None:
    """[W1] [W3] [W7]: the reader is not sent away, and the status names what is waited for and nothing else."""
    client = await house.client()
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        handle = await asked(stream)
        waiting = await parked(client)
        effects = list(house.rig.outside.effects)
        said = [await client.post(f"/api/chat/{handle}/input", json=one) for one in (APPROVE, ANSWER)]
        whole = await stream.rest()

    assert (waiting["waiting"], waiting["waits_until_ms"] > 0, waiting["stored"], effects) == (
        ["c1.0", "c1.1"],
        True,
        False,
        [],
    )
    assert [one.json() for one in said] == [{"success": True, "id": f"decision:{call}"} for call in ("c1.0", "c1.1")]
    assert types(whole)[-13:-7] == [
        "tool-approval-response",
        "tool-output-available",
        "tool-output-available",
        "finish-step",
        "data-loop",
        "start-step",
    ]
    assert [frame(piece)["output"] for piece in pieces(whole)[-12:-10]] == ["paid 5", "Quite sure."]
    assert (len(house.rig.outside.effects), (await status(client))["status"]) == (1, "completed")


async def test_the_first_decision_counts(house: House) -> None:
    """[W2] [W4]: however often it is sent, and whatever is said after it."""
    client = await house.client()
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await asked(stream)
        await parked(client)
        house.dispatch.deaf = True
        for one in (
            DENY,
            DENY,
            APPROVE,
            {**APPROVE, "id": "b"},
            {**ANSWER, "id": "c"},
            {**ANSWER, "text": "No!", "id": "d"},
        ):
            assert (await client.post(INPUT, json=one)).json()["success"]
        house.dispatch.deaf = False
        await client.post(INPUT, json=DENY)
        whole = await stream.rest()

    found = [frame(piece) for piece in pieces(whole)]
    decided = [one for one in found if one["type"] == "tool-approval-response"]
    assert decided == [
        {"type": "tool-approval-response", "approvalId": "c1.0", "approved": False, "reason": "Too much."}
    ]
    assert [one["output"] for one in found if one["type"] == "tool-output-available"] == ["Quite sure."]
    assert house.rig.outside.effects == []


async def test_an_input_is_recorded_before_it_is_answered(house: House) -> None:
    """[W4]: also where nobody can be told of it."""
    client = await house.client()
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await asked(stream)
        await parked(client)
        house.dispatch.deaf = True
        await client.post(INPUT, json=APPROVE)
        view = await house.rig.store.view(RUN)

    assert view is not None
    assert (view.state, view.unread) == ("parked", 1)


async def test_steering_reaches_the_model_and_shows_in_the_log(house: House) -> None:
    """[W5]"""
    client = await house.client()
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await asked(stream)
        await client.post(INPUT, json={"type": "steer", "id": "s1", "text": " Be quick. "})
        for one in (APPROVE, ANSWER):
            await client.post(INPUT, json=one)
        whole = await stream.rest()

    shown = [frame(piece) for piece in pieces(whole) if b'"steering-message"' in piece]
    assert shown == [{"type": "steering-message", "id": "s1", "parts": [{"type": "text", "text": "Be quick."}]}]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "shout"},
        {"type": "approve"},
        {"type": "approve", "approvalId": "c1.0", "toolCallId": "c1.1"},
        {"type": "approve", "approvalId": "c1.0", "text": "x"},
        {"type": "approve", "approvalId": "<c>"},
        {"type": "answer", "toolCallId": "c1.1"},
        {"type": "answer", "toolCallId": "c1.1", "text": " "},
        {"type": "answer", "toolCallId": "c1.1", "text": 1},
        {"type": "steer", "text": "x" * 4_001},
        {"type": "steer", "text": "x", "id": "a b"},
        {"type": "steer", "text": "x", "more": 1},
    ],
)
async def test_what_is_no_input_is_refused(house: House, body: JsonObject) -> None:
    client = await house.client()
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await asked(stream)
        refused = await client.post(INPUT, json=body)

    assert (refused.status_code, error(refused)["kind"]) == (400, "invalid")


async def test_a_run_that_has_ended_takes_no_input(house: House) -> None:
    """[W6]"""
    client = await house.client()
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await asked(stream)
        for one in (APPROVE, ANSWER):
            await client.post(INPUT, json=one)
        await stream.rest()
    late = await client.post(INPUT, json={"type": "steer", "text": "More!"})
    again = await client.post(INPUT, json=APPROVE)

    assert (late.status_code, error(late)["kind"], again.status_code) == (409, "conflict", 200)


async def test_a_run_takes_a_bounded_number_of_inputs(house: House) -> None:
    """[W6]"""
    client = await house.client()
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await asked(stream)
        await say(house.rig, *({"type": "steer", "id": str(number)} for number in range(MAX_INPUTS)), run_id=RUN)
        more = await client.post(INPUT, json={"type": "steer", "text": "More!"})

    assert (more.status_code, error(more)["kind"]) == (413, "too_large")


async def test_nobody_else_has_a_say(house: House) -> None:
    """LAW-P5 [T2]"""
    client, other = await house.client(), await house.client()
    await other.get("/api/conversations")
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        handle = await asked(stream)
        refused = [await other.post(f"/api/chat/{name}/input", json=APPROVE) for name in (handle, RUN)]
        refused.append(await other.post("/api/chat", json=continued()))
        unknown = await other.post(f"/api/chat/{RUN[:-1]}2/input", json=APPROVE)

    assert [one.status_code for one in (*refused, unknown)] == [404] * 4
    assert {one.text for one in refused} == {unknown.text}


async def test_a_parked_run_is_busy_and_can_be_stopped(house: House) -> None:
    """[W7] FR14 FR28"""
    client = await house.client()
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await asked(stream)
        await parked(client)
        busy = await client.post("/api/chat", json={"message": "And?", "conversation_id": "c1"})
        stopped = await client.post(f"/api/chat/{RUN}/stop")

    assert (busy.status_code, error(busy)["run_id"]) == (409, RUN)
    assert (stopped.json()["status"], house.dispatch.nudged) == ("stopping", [RUN])
