"""POST /api/chat as a client sees it, over a real server."""

from collections.abc import AsyncIterator

import pytest

from records.values import Span
from tests.contract.http_house import House, error, frame, pieces, reading, running, saying, script, types, with_limits

RUN = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c11"
ASKED = {"message": "hi", "conversation_id": "c1", "run_id": RUN}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as opened:
        yield opened


async def test_a_turn_streams_from_open_to_done(house: House) -> None:
    client = await house.client()

    response = await client.post("/api/chat", json=ASKED)

    assert response.status_code == 200
    assert response.content.startswith(b": open\n\n")  # [A1]
    assert response.content.endswith(b"data: [DONE]\n\n")  # [R7] [F6]
    assert types(response.content) == [
        "start", "data-run", "data-config", "start-step", "text-start", "text-delta", "text-delta", "text-delta",
        "text-end", "finish-step", "data-usage", "data-reply", "finish",
    ]  # fmt: skip
    assert frame(pieces(response.content)[1])["data"]["conversationId"] == "c1"  # [L2]


async def test_the_response_opens_while_the_model_has_said_nothing(house: House) -> None:
    house.plays(saying("one", "two"), hold=1)
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json={"message": "hi"}) as stream:
        assert await stream.until(b": open\n\n")  # [A1] REQ-A15

        assert {name: stream.headers[name] for name in (
            "content-type", "cache-control", "x-accel-buffering", "x-vercel-ai-ui-message-stream", "x-turnkeep-transport",
        )} == {
            "content-type": "text/event-stream; charset=utf-8",
            "cache-control": "no-cache, no-transform",
            "x-accel-buffering": "no",
            "x-vercel-ai-ui-message-stream": "v1",
            "x-turnkeep-transport": "workflow",
        }  # REQ-B2  # fmt: skip
        assert stream.headers["x-chat-run-id"] == house.dispatch.started[0]  # [A2] REQ-E1 REQ-C1
        assert "." in stream.headers["x-workflow-run-id"]
        assert stream.headers["x-chat-resume-token"]
        house.model.release()
        assert types(await stream.rest())[-1] == "finish"


@pytest.mark.parametrize(
    ("query", "headers"), [({"stream": "0"}, {}), ({}, {"accept": "application/json"})], ids=["stream=0", "accept"]
)
async def test_without_a_stream_the_answer_is_one_body(
    house: House, query: dict[str, str], headers: dict[str, str]
) -> None:
    client = await house.client()

    response = await client.post("/api/chat", params=query, headers=headers, json=ASKED)

    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert response.headers["x-workflow-run-id"]
    body = response.json()
    stored = await house.parts.records.messages(house.key(client, "c1"), Span())
    assert stored is not None
    assert body == {
        "run_id": RUN,
        "conversation_id": "c1",
        "message": {"id": f"msg_{RUN.replace('-', '')}", "role": "assistant", "parts": list(stored[1].parts)},  # [L7]
        "reply": "Hello, world",
        "finish_reason": "stop",
        "model": "scripted:test",
        "outcome": "completed",
    }  # [A5] REQ-A1 REQ-A2


@pytest.mark.parametrize(("kind", "status"), [("upstream", 502), ("rate_limited", 429), ("context_overflow", 200)])
async def test_a_failed_turn_without_a_stream_has_the_status_of_its_kind(house: House, kind: str, status: int) -> None:
    house.plays(script({"events": [{"type": "text", "text": "so far"}, {"type": "error", "kind": kind}]}))
    client = await house.client()

    response = await client.post("/api/chat?stream=0", json=ASKED)

    body = response.json()
    assert (response.status_code, body["error"]["kind"], body["outcome"]) == (status, kind, "failed")  # REQ-V3
    assert set(body["error"]) == {"kind", "message", "retryable"}
    assert body["reply"] == "so far"  # [E3]


async def test_past_its_bound_one_body_is_a_timeout_with_the_handle_and_the_run_goes_on() -> None:
    async with running(with_limits(json_ms=20)) as house:
        house.plays(saying("one", "two"), hold=1)
        client = await house.client()

        response = await client.post("/api/chat?stream=0", json=ASKED)

        assert (response.status_code, error(response)["retryable"]) == (408, True)
        house.model.release()
        stream = await client.get(f"/api/chat/{response.headers['x-workflow-run-id']}/stream")
        assert types(stream.content)[-1] == "finish"


async def test_a_second_run_is_refused_with_the_handle_of_the_first(house: House) -> None:
    house.plays(saying("one", "two"), hold=1)
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        refused = await client.post("/api/chat", json={"message": "again", "conversation_id": "c1"})

        assert refused.status_code == 409  # [A4]
        assert error(refused) == {
            "kind": "conflict",
            "message": "This conversation is answering already.",
            "retryable": False,
            "run_id": RUN,
            "handle": stream.headers["x-workflow-run-id"],
        }
        house.model.release()
        await stream.rest()
    assert (await client.post("/api/chat", json={"message": "next", "conversation_id": "c1"})).status_code == 200


async def test_the_same_run_id_is_the_same_run_live_and_after(house: House) -> None:
    house.plays(saying("one", "two", "three"), hold=1)
    client = await house.client()

    async with (
        reading(client, "POST", "/api/chat", json=ASKED) as first,
        reading(client, "POST", "/api/chat", json=ASKED) as second,
    ):
        await first.until(b'"one"')
        await second.until(b'"one"')
        house.model.release()
        whole = await first.rest()
        assert await second.rest() == whole  # [A3] FR13
    after = await client.post("/api/chat", json={"message": "hi"}, headers={"idempotency-key": RUN.upper()})
    from_the_third = await client.post("/api/chat", json=ASKED, headers={"last-event-id": "2"})
    assert after.content == whole  # REQ-C3 REQ-Z22
    assert pieces(from_the_third.content) == pieces(whole)[3:]
    assert (await client.post("/api/chat", json=ASKED, headers={"last-event-id": "12"})).status_code == 204
    view = await house.rig.store.view(RUN)
    assert view is not None
    assert (view.attempt, house.model.gaps) == (1, 2)  # one execution, whoever started it how often


async def test_a_request_that_lost_its_process_before_dispatch_is_taken_up_again(house: House) -> None:
    house.dispatch.fault = RuntimeError("the process died here")
    client = await house.client()

    lost = await client.post("/api/chat", json=ASKED)
    again = await client.post("/api/chat", json=ASKED)

    assert (lost.status_code, error(lost)["kind"]) == (500, "unavailable")
    assert types(again.content)[-1] == "finish"  # [A3] FR13
    assert house.dispatch.started == [RUN]


async def test_what_a_client_says_was_said_counts_only_while_nothing_is_stored(house: House) -> None:
    client = await house.client()
    said = [{"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"}]

    for _ in range(2):
        await client.post("/api/chat", json={"message": "hi", "conversation_id": "c1", "context": {"history": said}})

    assert [list(request.stateless_history) for request in house.dispatch.requests] == [said, []]  # REQ-A6 REQ-Z9


async def test_a_run_whose_log_has_expired_is_replayed_from_its_stored_answer(house: House) -> None:
    client = await house.client()
    before = (await client.post("/api/chat?stream=0", json=ASKED)).json()
    house.rig.clock.now += house.rig.settings.retention_ms + 1

    again = await client.post("/api/chat?sdk=5", json=ASKED)
    whole = await client.post("/api/chat?stream=0", json=ASKED)
    midway = await client.post("/api/chat", json=ASKED, headers={"last-event-id": "4"})

    assert types(again.content)[-1] == "finish"  # [A3] REQ-C3
    assert frame(pieces(again.content)[-1]) == {"type": "finish"}
    assert "x-workflow-run-id" not in again.headers  # there is nothing to come back to
    assert whole.json() == before  # [L7] REQ-O7
    assert (midway.status_code, error(midway)["message_id"]) == (410, before["message"]["id"])
    assert house.dispatch.started == [RUN]
