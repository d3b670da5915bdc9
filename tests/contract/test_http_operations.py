"""Health, metrics, the internal routes, the page."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from api.ports import ApiParts, Probe
from protocol.json import JsonObject
from protocol.turn import Transport
from tests.contract.http_house import House, error, running, with_limits, with_operations

TOKEN = "an internal token of thirty-two bytes"
OPERATOR = {"authorization": f"Bearer {TOKEN}"}
INTERNAL = [
    ("GET", "dispatch"), ("PUT", "dispatch"), ("GET", "settings"), ("POST", "smoke"), ("GET", "runs"), ("POST", "runs/stop"),
]  # fmt: skip


async def smoke(mode: Transport) -> JsonObject:
    return {"ran": mode}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(with_operations(token=TOKEN, settings={"CHAT_MODEL": "demo"}, smoke=smoke)) as opened:
        yield opened


async def test_an_operator_sees_and_sets_the_switch(house: House) -> None:
    client = await house.client(**OPERATOR)

    before = await client.get("/internal/dispatch")
    put = await client.put("/internal/dispatch", json={"switch": "off"})

    assert (before.json(), put.json(), house.dispatch.switch) == (
        {"switch": "on"},
        {"switch": "off"},
        {"switch": "off"},
    )
    assert (await client.get("/internal/settings")).json() == {"CHAT_MODEL": "demo"}  # REQ-Y14
    assert (await client.post("/internal/smoke?mode=sliced")).json() == {"ran": "workflow"}  # REQ-Y9
    assert (await client.post("/internal/smoke?mode=inline")).json() == {"ran": "inline"}
    assert (await client.post("/internal/smoke?mode=x")).status_code == 400


async def test_without_the_token_nothing_internal_answers(house: House) -> None:
    client = await house.client()

    for given in (
        "",
        TOKEN,
        f"bearer {TOKEN}",
        f"Bearer {TOKEN}x",
        f"Bearer  {TOKEN}",
        "Bearer",
        "Basic x",
        "Bearer \u00e9",
    ):
        headers = {b"authorization": given.encode("latin-1")} if given else {}
        for method, name in INTERNAL:
            response = await client.request(method, f"/internal/{name}", headers=headers)
            assert (given, response.status_code) == (given, 401)  # REQ-W5 REQ-W1
            assert error(response)["kind"] == "unauthenticated"
    assert house.dispatch.switch == {"switch": "on"}


async def test_without_a_token_set_nothing_internal_exists() -> None:
    async with running() as house:
        client = await house.client(**OPERATOR)

        unknown = await client.get("/nowhere")
        for method, name in INTERNAL:
            response = await client.request(method, f"/internal/{name}")
            assert (response.status_code, response.content) == (404, unknown.content)


async def test_ready_means_that_every_required_part_answers() -> None:
    up = {"store": True, "records": True, "temporal": False}
    hanging = asyncio.Event()

    def probe(name: str) -> Probe:
        async def check() -> bool:
            if name == "records" and not up[name]:
                await hanging.wait()
            if name == "store" and not up[name]:
                raise OSError("connection refused by 10.0.0.7")
            return up[name]

        return Probe(check=check, required=name != "temporal")

    def probed(parts: ApiParts) -> ApiParts:
        operations = replace(parts.operations, probes={name: probe(name) for name in up}, metrics=lambda: b"up 1\n")
        return with_limits(probe_ms=20)(replace(parts, operations=operations))

    async with running(probed) as house:
        client = await house.client()

        ready = await client.get("/readyz")
        up["store"] = False
        refused = await client.get("/readyz")
        up["store"], up["records"] = True, False
        silent = await client.get("/readyz")
        metrics = await client.get("/metrics")

    assert (ready.status_code, ready.json()) == (
        200, {"ready": True, "draining": False, "parts": {"store": "up", "records": "up", "temporal": "down"}},
    )  # fmt: skip
    assert (refused.status_code, refused.json()["parts"]["store"]) == (503, "down")
    assert (silent.status_code, silent.json()["parts"]["records"]) == (503, "down")
    assert "10.0.0.7" not in refused.text  # [E2]
    assert (metrics.headers["content-type"], metrics.content) == ("text/plain; version=0.0.4; charset=utf-8", b"up 1\n")


async def test_the_page_is_served_under_a_strict_policy(tmp_path: Path) -> None:
    (tmp_path / "vendor").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html>")
    (tmp_path / "vendor" / "a.js").write_text("export {}")
    (tmp_path / "notes.md").write_text("not served")

    async with running(lambda parts: replace(parts, pages=tmp_path)) as house:
        client = await house.client()
        page = await client.get("/")
        again = await client.get("/", headers={"if-none-match": page.headers["etag"]})
        library = await client.get("/vendor/a.js")
        missing = [
            (await client.get(name)).status_code for name in ("/notes.md", "/vendor", "/../x", "/%2e%2e/x", "/a.js")
        ]

    assert (page.text, page.headers["content-type"]) == ("<!doctype html>", "text/html; charset=utf-8")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "connect-src 'self'" in page.headers["content-security-policy"]  # REQ-T5
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["set-cookie"]  # before the first turn: two requests at once must not be two sessions
    assert (again.status_code, again.content, page.headers["cache-control"]) == (304, b"", "no-cache")
    assert library.headers["content-type"] == "text/javascript; charset=utf-8"
    assert missing == [404] * 5


async def test_the_default_assistant_introduces_itself(house: House) -> None:
    response = await (await house.client()).get("/api/assistant")

    bench = {"name": "bench", "title": "Bench", "starters": [], "model": "scripted"}
    assert response.json() == {**bench, "assistants": [bench]}


async def test_every_route_is_described(house: House) -> None:
    described = (await (await house.client()).get("/openapi.json")).json()

    assert set(described["paths"]) == {
        "/api/chat", "/api/chat/stream", "/api/chat/{name}/stream", "/api/chat/{run}/stop", "/api/chat/{run}/input", "/api/runs/{run}",
        "/api/runs/{run}/outputs/{call}",
        "/api/conversations", "/api/conversations/{conversation}", "/api/conversations/{conversation}/messages",
        "/api/files", "/api/files/{file}", "/api/assistant", "/healthz", "/readyz", "/metrics",
        "/internal/dispatch", "/internal/settings", "/internal/smoke", "/internal/runs", "/internal/runs/stop", "/internal/spend",
    }  # fmt: skip
