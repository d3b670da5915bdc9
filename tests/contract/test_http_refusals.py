"""What is refused, and that every refusal has one shape and tells nothing."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import cast

import pytest

from protocol.errors import HTTP_STATUS, ErrorKind, TurnkeepError
from tests.contract.http_house import House, error, running

RUN = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c11"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as opened:
        yield opened


async def test_a_body_is_json_whatever_it_is_called(house: House) -> None:
    body = b'{"messages":[{"role":"user","parts":[{"type":"text","text":"hi"}]}]}'
    client = await house.client()

    for name in ("application/json", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", ""):
        response = await client.post("/api/chat?stream=0", content=body, headers={"content-type": name})
        assert (name, response.json()["reply"]) == (name, "Hello, world")  # never 422


BODIES = [
    (b"", 400), (b"{", 400), (b"[]", 400), (b"null", 400), (b'{"message":NaN}', 400), (b'{"message":""}', 400),
    (b'{"message":"hi","conversation_id":"a.b"}', 400), (b'{"message":"hi","assistant":"nobody"}', 400),
    (b"\xff\xfe", 400), (b"\x1f\x8b", 400), (b'{"message":' + b"[" * 50 + b"]" * 50 + b"}", 400),
    (json.dumps({"message": "x" * 4_001}).encode(), 400), (b'{"message":"' + b"x" * 1_048_577 + b'"}', 413),
    (b'{"message":"' + b"x" * 3_000_000 + b'"}', 413), (b"[" * 1_000_000, 400),
]  # fmt: skip


async def test_a_body_that_cannot_be_a_turn_is_refused(house: House) -> None:
    client = await house.client()

    for body, status in BODIES:
        response = await client.post("/api/chat", content=body)
        assert (body[:40], response.status_code) == (body[:40], status)  # [A6] REQ-A3 REQ-V1 FR48
        assert (error(response)["kind"], error(response)["retryable"]) == (
            {400: "invalid", 413: "too_large"}[status],
            False,
        )
    assert await house.parts.records.unfinished(1 << 60, 10) == ()


async def test_fields_nobody_knows_are_ignored(house: House) -> None:
    body = {"message": "hi", "trigger": "submit-message", "top_k": 3, "context": {"passages": ["ground me"]}}

    response = await (await house.client()).post("/api/chat?stream=0", json=body)

    assert response.status_code == 200  # [A7] REQ-A7


async def test_a_method_that_an_address_does_not_take_is_405(house: House) -> None:
    client = await house.client()

    for method, address in (
        ("PUT", "/api/chat"), ("DELETE", "/api/chat/x/stream"), ("POST", "/api/chat/stream"), ("GET", "/api/chat/x/stop"),
        ("POST", "/healthz"), ("PATCH", "/api/conversations"),
    ):  # fmt: skip
        response = await client.request(method, address)
        assert (method, address, response.status_code) == (method, address, 405)
        assert error(response)["kind"] == "invalid"
        assert response.headers["allow"]


async def test_every_kind_has_its_status_and_the_one_shape() -> None:
    kinds = iter(HTTP_STATUS)

    def refuse(*_: object) -> str:
        raise TurnkeepError(cast("ErrorKind", next(kinds)), "No.", details={"more": "1"})

    async with running(lambda parts: replace(parts, model_of=refuse)) as house:
        client = await house.client()
        for kind, status in HTTP_STATUS.items():
            response = await client.post("/api/chat", json={"message": "hi"})
            assert (kind, response.status_code) == (kind, status)  # [E1] REQ-V1 REQ-V3 REQ-V4
            assert error(response)["kind"] == kind
            assert ("retry-after" in response.headers) is (status in (429, 503))
            assert response.headers["cache-control"] == "no-store"


async def test_a_fault_of_ours_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    secret = "postgresql://user:password@10.0.0.7/turnkeep said: hi"

    def fail(*_: object) -> str:
        raise RuntimeError(secret)

    async with running(lambda parts: replace(parts, model_of=fail)) as house:
        client = await house.client()
        # One way leads through the framework, the other past it.
        answers = [await client.post("/api/chat", json={"message": "hi"}), await client.get("/api/assistant")]

    for response in answers:
        assert (response.status_code, error(response)) == (
            500, {"kind": "unavailable", "message": "Something went wrong on our side.", "retryable": True},
        )  # [E2] REQ-V5  # fmt: skip
    assert caplog.text.count("RuntimeError") == 2
    assert "password" not in caplog.text


async def test_a_conversation_is_created_once_and_listed(house: House) -> None:
    client, other = await house.client(), await house.client()

    created = await client.post("/api/conversations", json={"id": "c1", "title": "One"})
    again = await client.post("/api/conversations", json={"id": "c1", "title": "Other"})
    minted = await client.post("/api/conversations")
    taken = await other.post("/api/conversations", json={"id": "c1"})

    assert (created.status_code, again.status_code, minted.status_code) == (201, 409, 201)  # [O3] REQ-O1 REQ-O4
    assert again.json()["conversation"] == created.json()
    assert again.json()["error"]["kind"] == "conflict"
    assert (created.json()["id"], created.json()["title"], created.json()["active_run_id"]) == ("c1", "One", None)
    assert (taken.status_code, error(taken)["kind"]) == (404, "not_found")  # LAW-P5
    listed = (await client.get("/api/conversations")).json()["conversations"]
    assert {conversation["id"] for conversation in listed} == {"c1", minted.json()["id"]}  # REQ-O6


async def test_other_routes_than_chat_refuse_fields_they_do_not_know(house: House) -> None:
    client = await house.client()

    for body in (b'{"id":"a.b"}', b'{"id":7}', b'{"titel":"x"}', b'{"title":7}', b"[]", b'{"id":""}', b'{"id":"a\\n"}'):
        response = await client.post("/api/conversations", content=body)
        assert (body, response.status_code, error(response)["kind"]) == (body, 400, "invalid")


async def test_messages_come_by_sequence_and_without_the_answer_that_is_being_written(house: House) -> None:
    client = await house.client()
    await client.post("/api/chat?stream=0", json={"message": "first", "conversation_id": "c1", "run_id": RUN})
    house.plays(house.dispatch.script)
    await client.post("/api/chat?stream=0", json={"message": "second", "conversation_id": "c1"})
    address = "/api/conversations/c1/messages"

    whole = (await client.get(address)).json()["messages"]
    newest = (await client.get(f"{address}?limit=1&order=desc")).json()["messages"]

    assert [message["sequence"] for message in whole] == [1, 2, 3, 4]  # [O2] REQ-O6
    assert newest == whole[3:]
    assert whole[0]["parts"] == [{"type": "text", "text": "first"}]
    assert set(whole[1]) == {
        "id", "sequence", "role", "run_id", "parts", "model", "outcome", "usage", "created_ms", "cost_micro_usd",
        "suggested",
    }  # fmt: skip
    for query in ("limit=0", "limit=1001", "limit=x", "order=random", "limit=1&limit=2"):
        assert (await client.get(f"{address}?{query}")).status_code == 400
