"""Pages of other sites: which may ask, which may read the answer, and what every answer says to browsers."""

from dataclasses import replace

import httpx2
import pytest

from api.ports import Admitted
from tests.contract.http_callers import admitting, holding, key_of
from tests.contract.http_house import Change, error, running

APP = "https://app.example.com"
ASKED = {"message": "hi", "conversation_id": "c1"}


def shared_with(*origins: str) -> Change:
    return lambda parts: replace(admitting()(parts), admitted=Admitted(origins=frozenset(origins)))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),  # no browser
        ({"origin": "http://turnkeep.test"}, 200),
        ({"origin": "https://turnkeep.test", "sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"origin": APP}, 200),
        ({"origin": APP, "sec-fetch-site": "cross-site"}, 200),
        ({"origin": "https://evil.example.com"}, 400),
        ({"origin": "http://turnkeep.test.evil.example.com"}, 400),
        ({"origin": "http://evil.example.com/http://turnkeep.test"}, 400),
        ({"origin": "null"}, 400),
        ({"origin": ""}, 400),
        ({"sec-fetch-site": "cross-site"}, 400),
        ({"sec-fetch-site": "same-site"}, 400),
        ({"origin": "http://turnkeep.test", "sec-fetch-site": "same-site"}, 400),
    ],
)
async def test_a_session_writes_only_from_pages_of_ours(headers: dict[str, str], status: int) -> None:
    """A request as text/plain is sent without asking us first, with the cookie where the site is our neighbour."""
    async with running(shared_with(APP)) as house:
        house.model.release()
        browser = await house.client(**headers)
        answers = [
            await browser.post(
                "/api/chat?stream=0", content=b'{"message":"hi"}', headers={"content-type": "text/plain"}
            ),
            await browser.post("/api/conversations", json={}),
            await browser.post("/api/chat/11111111-1111-4111-8111-111111111111/stop"),
        ]

    expected = [200, 201, 404] if status == 200 else [400] * 3
    assert [answer.status_code for answer in answers] == expected


async def test_what_is_in_no_cookie_is_sent_by_nobody_elses_page() -> None:
    async with running(admitting()) as house:
        client = await holding(house, await key_of(house), origin="https://evil.example.com")

        assert (await client.post("/api/conversations", json={})).status_code == 201


async def test_a_page_of_an_admitted_site_asks_first_and_reads_what_it_needs() -> None:
    """Off unless it is set; never for every site, because answers come with somebody's session."""
    wanted = {"origin": APP, "access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    async with running(shared_with(APP)) as house:
        client = await house.client()
        asked = await client.options("/api/chat", headers=wanted)
        answer = await client.get("/api/conversations", headers={"origin": APP})
        other = await client.options("/api/chat", headers={**wanted, "origin": "https://evil.example.com"})
        others = await client.get("/api/conversations", headers={"origin": "https://evil.example.com"})
        refusal = await client.get("/api/runs/x", headers={"origin": APP})
    async with running() as house:
        off = await (await house.client()).options("/api/chat", headers=wanted)

    assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (204, APP)
    assert asked.headers["access-control-allow-credentials"] == "true"
    allowed = {name.strip() for name in asked.headers["access-control-allow-headers"].split(",")}
    assert {"authorization", "content-type", "last-event-id", "x-chat-resume-token"} <= allowed
    assert "x-turnkeep-owner" not in allowed
    exposed = {name.strip() for name in answer.headers["access-control-expose-headers"].split(",")}
    assert {"x-workflow-run-id", "x-workflow-stream-tail-index", "x-chat-run-id", "x-chat-resume-token"} <= exposed
    assert refusal.headers["access-control-allow-origin"] == APP
    assert [one.headers["vary"] for one in (answer, others)] == ["origin"] * 2
    assert not any(name.startswith("access-control") for one in (other, others, off) for name in one.headers)


async def test_every_answer_tells_browsers_what_it_is() -> None:
    async with running(admitting()) as house:
        client = await house.client()
        paths = ("/api/conversations", "/api/nowhere", "/healthz", "/internal/dispatch", "/openapi.json")
        answers: list[httpx2.Response] = [await client.get(path) for path in paths]

    for answer in answers:
        said = [answer.headers.get(name) for name in ("x-content-type-options", "referrer-policy", "x-frame-options")]
        assert said == ["nosniff", "no-referrer", "DENY"]
    assert error(answers[3])["kind"] == "unauthenticated"


async def test_nothing_of_a_framework_stands_between_a_stream_and_the_server() -> None:
    """FR57: the usual middleware turns a broken stream into a clean end."""
    async with running() as house:
        assert house.application._routes.user_middleware == []
