"""Money over HTTP: a turn without budget, what a run cost, what was spent."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from engine.settle import OVER_BUDGET
from tests.bill import price
from tests.contract.http_house import House, error, frame, pieces, running, script, with_operations

TOKEN = "an internal token of thirty-two bytes"
OPERATOR = {"authorization": f"Bearer {TOKEN}"}
ANSWER = script(
    {"events": [{"type": "text", "text": "Hello"}, {"type": "stop", "usage": {"input_tokens": 30, "output_tokens": 5}}]}
)
HANDOFF = {"reason": "budget", "payload": {"message": OVER_BUDGET.message}}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(with_operations(token=TOKEN, budget_micro_usd=1_000_000)) as opened:
        opened.dispatch.script = ANSWER
        opened.rig.price = price
        yield opened


def spend_no_more(house: House) -> None:
    house.rig.settings = replace(house.rig.settings, budget_micro_usd=1)


async def test_over_budget_a_turn_is_a_hand_off_with_status_200(house: House) -> None:
    """REQ-Q5, FR62, [H1]"""
    client = await house.client()
    spend_no_more(house)

    answer = await client.post("/api/chat", json={"message": "Hi", "conversation_id": "c"})

    frames = [frame(piece) for piece in pieces(answer.content)]
    told = [one for one in frames if one["type"] == "data-handoff"]
    assert (answer.status_code, told, frames[-1]) == (
        200,
        [{"type": "data-handoff", "data": HANDOFF}],
        {"type": "finish", "finishReason": "stop"},
    )
    stored = (await client.get("/api/conversations/c/messages")).json()["messages"]
    assert [part["type"] for part in stored[1]["parts"]] == ["step-start", "data-handoff", "data-usage"]


async def test_a_hand_off_is_part_of_the_json_body(house: House) -> None:
    client = await house.client()
    spend_no_more(house)

    answer = await client.post("/api/chat?stream=0", json={"message": "Hi"})

    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["handoff"], body["reply"], "error" in body) == (200, HANDOFF, "", False)


async def test_what_a_run_cost_is_told_with_its_status_and_its_message(house: House) -> None:
    """REQ-Q10"""
    client = await house.client()
    answer = await client.post("/api/chat", json={"message": "Hi", "conversation_id": "c"})

    status = (await client.get(f"/api/runs/{answer.headers['x-workflow-run-id']}")).json()
    stored = (await client.get("/api/conversations/c/messages")).json()["messages"]

    assert (status["cost_micro_usd"], [message["cost_micro_usd"] for message in stored]) == (35, [0, 35])


async def test_operators_see_what_was_spent(house: House) -> None:
    """REQ-Q9"""
    client, operator = await house.client(), await house.client(**OPERATOR)
    await client.post("/api/chat", json={"message": "Hi"})
    spend_no_more(house)
    await client.post("/api/chat", json={"message": "Hi"})

    spent = (await operator.get("/internal/spend")).json()

    tokens = {"input_tokens": 30, "output_tokens": 5, "cache_read_tokens": 0, "cache_write_tokens": 0}
    row = {"pipeline": "chat", "model": "scripted", "calls": 1, "open": 0, "estimated": 0, "micro_usd": 35}
    assert spent == {
        "since": "2027-01-15",
        "until": "2027-01-16",
        "spend": [{**row, "tokens": tokens}],
        "today": {"pipeline": "chat", "day": "2027-01-15", "budget_micro_usd": 1_000_000, "used_micro_usd": 35},
    }
    before = await operator.get("/internal/spend?since=2027-01-01&until=2027-01-15")
    assert before.json()["spend"] == []


async def test_spend_is_told_to_operators_only(house: House) -> None:
    client, operator = await house.client(), await house.client(**OPERATOR)

    assert error(await client.get("/internal/spend"))["kind"] == "unauthenticated"
    for query in ("since=yesterday", "since=", "until=", "until=2026-W50"):
        assert error(await operator.get(f"/internal/spend?{query}"))["kind"] == "invalid"
