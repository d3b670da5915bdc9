"""Where a run lives when its store is away, what a deployment without a secret gives, and what gates say."""

import json
from dataclasses import replace

from api.ports import ApiParts
from assistants.definition import Assistant
from checkpoints.memory import MemoryRunStore
from protocol.errors import StoreUnavailable, TurnkeepError
from tests.contract.http_house import error, reading, running, saying, types, with_limits
from tests.rig import StillClock

RUN = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c11"
ASKED = {"message": "hi", "conversation_id": "c1", "run_id": RUN}
COME_BACK = {"x-workflow-run-id", "x-chat-resume-token"}


class AwayStore(MemoryRunStore):
    """A store that is away."""

    async def open(self, run_id: str, request: bytes) -> bool:
        raise StoreUnavailable


async def test_with_the_store_away_a_turn_runs_here_without_a_handle() -> None:
    def without_store(parts: ApiParts) -> ApiParts:
        return replace(parts, primary=replace(parts.primary, store=AwayStore(StillClock())))

    async with running(without_store) as house:
        client = await house.client()

        response = await client.post("/api/chat", json=ASKED)

        assert types(response.content)[-1] == "finish"  # REQ-F4 FR80
        assert COME_BACK.isdisjoint(response.headers)
        assert (response.headers["x-chat-run-id"], response.headers["x-turnkeep-transport"]) == (RUN, "inline")
        run = await house.parts.records.run(RUN)
        assert run is not None
        assert (run.memory, run.status) == (True, "completed")  # C6
        assert (await client.post("/api/chat", json=ASKED)).content == response.content  # [A3]
        assert (await client.get(f"/api/runs/{RUN}")).json()["status"] == "completed"
        assert (await client.post(f"/api/chat/{RUN}/stop")).json()["status"] == "completed"


async def test_without_a_secret_there_is_no_handle_but_stop_and_status_by_run_id() -> None:
    async with running(lambda parts: replace(parts, tokens=None)) as house:
        house.plays(saying("one", "two"), hold=1)
        client = await house.client()

        async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
            await stream.until(b'"one"')
            assert COME_BACK.isdisjoint(stream.headers)  # [A2] REQ-E2
            refused = await client.post("/api/chat", json={"message": "again", "conversation_id": "c1"})
            assert "handle" not in error(refused)
            stopped = await client.post(f"/api/chat/{RUN}/stop")
            assert stopped.json() == {"success": True, "status": "stopping", "ended": False}
            house.model.release()
            assert types(await stream.rest())[-5:] == ["finish-step", "abort", "data-usage", "data-reply", "finish"]
        assert (await client.get(f"/api/runs/{RUN}")).json()["status"] == "stopped"
        gone = await client.get("/api/chat/stream", params={"runId": RUN}, headers={"x-chat-resume-token": "a.b"})
        assert gone.status_code == 404  # REQ-V6
        assert (await client.get("/api/chat/a.b/stream")).status_code == 404


async def test_a_turn_that_no_model_could_answer_is_refused_before_anything_is_written() -> None:
    def without_key(assistant: Assistant) -> str:
        raise TurnkeepError("not_configured", f"{assistant.name} needs a model's key.")

    async with running(lambda parts: replace(parts, model_of=without_key)) as house:
        client = await house.client()

        response = await client.post("/api/chat", json=ASKED)

        assert (response.status_code, error(response)["kind"]) == (500, "not_configured")  # REQ-A12 REQ-A13 REQ-V4
        assert await house.parts.records.run(RUN) is None


async def test_a_body_that_never_ends_is_a_timeout() -> None:
    async with running(with_limits(prestream_ms=20)) as house:
        request = b'POST /api/chat HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{"message":'
        async with house.wire(request) as reader:
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readuntil(b"}}")

    assert head.startswith(b"HTTP/1.1 408 ")  # REQ-A15 REQ-V1
    assert json.loads(body)["error"] == {
        "kind": "timeout",
        "message": "The turn did not begin in time.",
        "retryable": True,
    }
