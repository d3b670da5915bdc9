"""The whole of what a frame only begins, for its owner and nobody else."""

import json
from collections.abc import AsyncIterator

import pytest

from tests.contract.http_house import House, running, script
from tests.rig import RUN_ID
from tools.declare import tool

LINES = [{"number": number, "text": "\u2028\ud83d\ude00"} for number in range(5_000)]
LOADING = script(
    {"events": [{"type": "tool_input", "id": "p", "name": "load", "delta": "{}"}, {"type": "stop", "reason": "tool_use"}]},
    {"events": [{"type": "text", "text": "Loaded."}, {"type": "stop"}]},
)  # fmt: skip


@tool(repeat="safe")
async def load() -> object:
    """Load lines."""
    return LINES


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as opened:
        opened.rig.more_tools = (load,)
        opened.plays(LOADING)
        yield opened


async def test_the_owner_gets_the_whole_of_a_shortened_output(house: House) -> None:
    """[U3]"""
    client = await house.client()
    answer = await client.post("/api/chat", json={"message": "hi", "run_id": RUN_ID})
    handle = answer.headers["x-workflow-run-id"]
    outputs = [
        json.loads(line.removeprefix("data: "))["output"]
        for line in answer.text.splitlines()
        if line.startswith('data: {"type":"tool-output-available"')
    ]
    (output,) = outputs
    reference = output["shortened"]["reference"]
    whole = await client.get(f"/api/runs/{handle}/outputs/{reference}")

    assert json.dumps(whole.json(), ensure_ascii=False).startswith(output["beginning"])
    assert [line["number"] for line in whole.json()] == [*range(5_000)]
    assert (await client.get(f"/api/runs/{RUN_ID}/outputs/{reference}")).json() == whole.json()


async def test_anybody_else_and_anything_else_gets_nothing(house: House) -> None:
    """[T2] LAW-P5"""
    client, other = await house.client(), await house.client()
    answer = await client.post("/api/chat", json={"message": "hi", "run_id": RUN_ID})
    handle = answer.headers["x-workflow-run-id"]
    await other.get("/api/assistant")
    await other.post("/api/chat?stream=0", json={"message": "hi"})
    answers = [
        await other.get(f"/api/runs/{handle}/outputs/c1.0"),
        await other.get(f"/api/runs/{RUN_ID}/outputs/c1.0"),
        await client.get(f"/api/runs/{handle}/outputs/c9.9"),
        await client.get(f"/api/runs/{handle}/outputs/%00"),
        await client.get(f"/api/runs/{handle}/outputs/{'x' * 200}"),
    ]

    assert {(one.status_code, one.text) for one in answers} == {(404, answers[0].text)}
