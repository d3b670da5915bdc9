"""Alerts as whoever is on duty gets them."""

import asyncio
import json
import logging

import pytest

from app.alerts import Alerts
from tests.loopback import Answer, Asked, Loopback, whole


async def test_a_turn_that_ended_early_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """REQ-Y17: cut by the token limit, or interrupted; with its id, and nothing of what was said."""
    asked: list[Asked] = []

    async def respond(request: Asked) -> Answer:
        asked.append(request)
        return Answer(pieces=whole(b""))

    async with Loopback(respond) as server, Alerts(f"{server.url}/alerts") as alerts:
        alerts.ended("r1", "failed", "max_tokens")
        alerts.ended("r2", "interrupted", "interrupted")
        alerts.ended("r3", "completed", "")
        alerts.ended("r4", "stopped", "stopped")
        alerts.ended("r5", "failed", "upstream")

    told = [json.loads(request.body) for request in asked]
    assert sorted(told, key=lambda alert: alert["run_id"]) == [
        {"run_id": "r1", "status": "failed", "kind": "max_tokens"},
        {"run_id": "r2", "status": "interrupted", "kind": "interrupted"},
    ]
    assert {request.line for request in asked} == {"POST /alerts"}
    assert [record.__dict__["run_id"] for record in caplog.records] == ["r1", "r2"]


@pytest.mark.parametrize("fault", ["refused", "away", "no address"])
async def test_an_alert_that_is_not_delivered_harms_nobody(caplog: pytest.LogCaptureFixture, fault: str) -> None:
    """REQ-Y17: the log has it."""

    async def respond(_: Asked) -> Answer:
        return Answer(status=500, pieces=whole(b""))

    async with Loopback(respond) as server:
        url = {"refused": server.url, "away": "http://127.0.0.1:1/", "no address": ""}[fault]
        async with Alerts(url) as alerts:
            alerts.ended("r1", "interrupted", "interrupted")

    said = [record.getMessage() for record in caplog.records]
    assert (said[0], len(said)) == ("alert: a turn ended early", 1 if fault == "no address" else 2)


async def test_an_outage_opens_no_thousand_connections(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    asked: list[Asked] = []
    all_there = asyncio.Event()

    async def respond(request: Asked) -> Answer:
        asked.append(request)
        await all_there.wait()
        return Answer(pieces=whole(b""))

    async with Loopback(respond) as server, Alerts(server.url) as alerts:
        for number in range(200):
            alerts.ended(f"r{number}", "interrupted", "interrupted")
        all_there.set()

    assert len(asked) == 100
