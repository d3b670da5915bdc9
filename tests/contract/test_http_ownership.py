"""Foreign, unknown and deleted look the same on every route, to the byte."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.contract.http_house import House, reading, running, saying

RUN = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c11"
UNKNOWN = "11111111-1111-4111-8111-111111111111"
ASKED = {"message": "hi", "conversation_id": "c1", "run_id": RUN}
NOT_FOUND = {"error": {"kind": "not_found", "message": "There is nothing here for you.", "retryable": False}}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as opened:
        opened.plays(saying("one", "two"), hold=1)
        yield opened


async def answers(client: httpx2.AsyncClient, handle: str, run_id: str, conversation: str) -> list[httpx2.Response]:
    """Every route that names something, with these names."""
    return [
        await client.get(f"/api/chat/{handle}/stream"),
        await client.get(f"/api/chat/{handle}/stream?startIndex=-3"),
        await client.post(f"/api/chat/{handle}/stop"),
        await client.get(f"/api/runs/{handle}"),
        await client.post(f"/api/chat/{run_id}/stop"),
        await client.get(f"/api/runs/{run_id}"),
        await client.get(f"/api/conversations/{conversation}/messages"),
        await client.patch(f"/api/conversations/{conversation}", json={"title": "mine"}),
        await client.delete(f"/api/conversations/{conversation}"),
        await client.get(f"/api/files/file_{conversation:0>32}"),
    ]


async def test_what_is_somebody_elses_looks_like_what_never_was(house: House) -> None:
    owner, stranger = await house.client(), await house.client()
    await stranger.get("/api/conversations")

    async with reading(owner, "POST", "/api/chat", json=ASKED) as stream:
        await stream.until(b'"one"')
        handle = stream.headers["x-workflow-run-id"]
        foreign = await answers(stranger, handle, RUN, "c1")
        nobody = await answers(await house.client(), handle, RUN, "c1")
        unknown = await answers(stranger, f"{handle}x", UNKNOWN, "c2")
        asked = await stranger.post("/api/chat", json={"message": "hi", "conversation_id": "c1"})
        same_run = await stranger.post("/api/chat", json={"message": "hi", "run_id": RUN})
        idle = [await stranger.get(f"/api/chat/{name}/stream") for name in ("c1", "c2")]
        house.model.release()
        await stream.rest()

    for response in (*foreign, *nobody, *unknown, asked, same_run):
        assert (response.status_code, response.json()) == (404, NOT_FOUND)  # [T2] LAW-P5 REQ-W1
    assert [response.status_code for response in idle] == [204, 204]
    assert (await stranger.get("/api/conversations")).json() == {"conversations": []}


async def test_names_that_name_nothing_are_not_found(house: House) -> None:
    client = await house.client()

    for address in (
        "/api/chat/%00/stream", "/api/chat/a%2Fb/stream", "/api/chat/%F0%9F%98%80/stream", f"/api/chat/{'x' * 200}/stream",
        f"/api/chat/{'x.' * 4000}/stream", "/api/runs/..", "/api/runs/%2e%2e", "/api/runs/nope", "/api/runs/c1",
        "/api/conversations/a.b/messages", "/api/conversations/%00/messages", "/api", "/api/chat/", "/nowhere", "//", "/%00",
    ):  # fmt: skip
        response = await client.get(address)
        assert (address, response.status_code, response.json()) == (address, 404, NOT_FOUND)  # [E1]


async def test_a_session_is_kept_and_a_forged_one_replaced(house: House) -> None:
    browser, forger = await house.client(), await house.client(cookie="turnkeep_session=eyJ9.AAAA; other=1")

    first = await browser.get("/api/conversations")
    second = await browser.get("/api/conversations")
    forged = await forger.get("/api/conversations")

    value, *flags = first.headers["set-cookie"].split("; ")
    assert house.parts.sessions.open(value.removeprefix("turnkeep_session="))
    assert flags == ["Max-Age=2592000", "Path=/", "HttpOnly", "SameSite=Lax"]  # REQ-A5
    assert "set-cookie" not in second.headers
    assert forged.headers["set-cookie"] != first.headers["set-cookie"]


async def test_behind_https_the_cookie_is_secure(house: House) -> None:
    sent = []

    async def send(message: "dict[str, object]") -> None:
        sent.append(message)

    async def receive() -> "dict[str, object]":
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http", "method": "GET", "path": "/api/conversations", "scheme": "https", "headers": [], "query_string": b"",
    }  # fmt: skip
    await house.application(scope, receive, send)  # type: ignore[arg-type] # messages are dictionaries

    cookie = dict(sent[0]["headers"])[b"set-cookie"]  # type: ignore[call-overload] # of a response
    assert cookie.endswith(b"; Secure")


async def test_without_a_conversation_id_the_session_is_the_conversation(house: House) -> None:
    house.model.release()
    browser, other = await house.client(), await house.client()

    bodies = [(await browser.post("/api/chat?stream=0", json={"message": text})).json() for text in ("hi", "again")]
    elsewhere = (await other.post("/api/chat?stream=0", json={"message": "hi"})).json()

    assert bodies[0]["conversation_id"] == bodies[1]["conversation_id"] != elsewhere["conversation_id"]  # [A8] REQ-A4
    messages = await browser.get(f"/api/conversations/{bodies[0]['conversation_id']}/messages")
    assert [message["role"] for message in messages.json()["messages"]] == ["user", "assistant"] * 2


async def test_a_page_of_another_site_cannot_ask_or_stop(house: House) -> None:
    client = await house.client()

    for site in ("cross-site", "same-site"):
        response = await client.post("/api/chat", json=ASKED, headers={"sec-fetch-site": site})
        assert (response.status_code, response.json()["error"]["kind"]) == (400, "invalid")
    house.model.release()
    assert (await client.post("/api/chat", json=ASKED, headers={"sec-fetch-site": "same-origin"})).status_code == 200
