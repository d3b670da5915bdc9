"""Runs as operators see and stop them, and the ledger as the run's owner does."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from protocol.json import Json
from tests.contract.http_house import House, error, reading, running, saying, script, with_operations

TOKEN = "an internal token of thirty-two bytes"
OPERATOR = {"authorization": f"Bearer {TOKEN}"}
SECRET = "a thing that only ann said"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(with_operations(token=TOKEN)) as opened:
        yield opened


async def begun(house: House, client: httpx2.AsyncClient, conversation: str) -> str:
    """A turn that waits for its model; its id."""
    body = {"message": SECRET, "conversation_id": conversation}
    async with reading(client, "POST", "/api/chat", json=body) as stream:
        return str(stream.headers["x-chat-run-id"])


async def test_operators_see_every_run_and_nothing_that_was_said(house: House) -> None:
    """LAW-P6: the newest first, page by page."""
    ann, ben = await house.client(), await house.client()
    house.plays(saying("Hello", "you"), hold=1)
    first = await begun(house, ann, "one")
    house.rig.clock.now += 1
    second = await begun(house, ben, "two")
    operator = await house.client(**OPERATOR)

    everything = await operator.get("/internal/runs")
    page = (await operator.get("/internal/runs?limit=1")).json()
    rest = (await operator.get("/internal/runs", params={"limit": "1", "after": page["next"]})).json()
    owner = house.key(ben, "two").owner
    of_ben = (await operator.get("/internal/runs", params={"owner": owner, "state": "unfinished"})).json()

    assert [run["run_id"] for run in everything.json()["runs"]] == [second, first]
    assert (SECRET in everything.text, everything.json()["next"]) == (False, None)
    assert [[run["run_id"] for run in one["runs"]] for one in (page, rest)] == [[second], [first]]
    assert [(run["run_id"], run["owner"], run["conversation_id"]) for run in of_ben["runs"]] == [(second, owner, "two")]
    assert (await operator.get("/internal/runs?state=completed")).json() == {"runs": [], "next": None}
    house.model.release()


@pytest.mark.parametrize("query", ["state=gone", "after=x", "limit=0", "after=1-a&after=1-b"])
async def test_a_list_that_is_asked_for_wrongly_is_refused(house: House, query: str) -> None:
    response = await (await house.client(**OPERATOR)).get(f"/internal/runs?{query}")

    assert (response.status_code, error(response)["kind"]) == (400, "invalid")


async def test_operators_stop_many_runs_at_once(house: House) -> None:
    """Those of an owner, those of a state, or those they name."""
    client = await house.client()
    house.plays(saying("Hello", "you"), hold=1)
    runs = [await begun(house, client, name) for name in ("one", "two", "three")]
    operator = await house.client(**OPERATOR)

    named = await operator.post("/internal/runs/stop", json={"run_ids": [runs[0], "nobody", runs[0]]})
    listed = await operator.post("/internal/runs/stop", json={"owner": house.key(client, "one").owner})
    house.model.release()
    await house.dispatch.settled()
    after = await operator.post("/internal/runs/stop", json={"run_ids": runs})

    def statuses(response: httpx2.Response) -> list[tuple[str, Any]]:
        return [(run["run_id"], run["status"]) for run in response.json()["runs"]]

    assert statuses(named)[1] == ("nobody", "not_found")
    assert {name for name, _ in statuses(listed)} | {runs[0]} == set(runs)
    assert statuses(after) == [(run_id, "stopped") for run_id in runs]


@pytest.mark.parametrize(
    "body",
    [{}, {"run_ids": "all"}, {"run_ids": [1]}, {"owner": 5}, {"run_ids": [], "owner": "a"}, {"everything": True}],
)
async def test_a_bulk_stop_says_which_runs(house: House, body: dict[str, Any]) -> None:
    response = await (await house.client(**OPERATOR)).post("/internal/runs/stop", json=body)

    assert (response.status_code, error(response)["kind"]) == (400, "invalid")


async def test_the_ledger_is_in_the_run_s_status(house: House) -> None:
    """LAW-P3: step, ordinal, tool and state of every call, and nothing that went in or came out."""
    client = await house.client()
    tools: list[Json] = [
        {"type": "tool_input", "id": "a", "name": "send", "delta": '{"text": "secret"}'},
        {"type": "tool_input", "id": "b", "name": "add", "delta": '{"a": 1, "b": 2}'},
        {"type": "stop", "reason": "tool_use"},
    ]
    house.plays(script({"events": tools}, {"events": [{"type": "text", "text": "Done."}, {"type": "stop"}]}))
    answered = await client.post("/api/chat", json={"message": "hi"})
    status = await client.get(f"/api/runs/{answered.headers['x-workflow-run-id']}")

    assert status.json()["calls"] == [
        {"step": 1, "ordinal": 0, "tool": "send", "state": "finished"},
        {"step": 1, "ordinal": 1, "tool": "add", "state": "finished"},
    ]
    assert "secret" not in status.text
