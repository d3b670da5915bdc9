"""The Python clients of the matrix, through the same scenarios: httpx-sse, and our own."""

import asyncio
import json
from typing import Any
from urllib.parse import quote

import httpx
import httpx2
from httpx_sse import ServerSentEvent, aconnect_sse

from turnkeep_client import AsyncClient

SECONDS = 30


async def httpx_sse(scenarios: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each scenario's frames. The loop around the client is what its user writes to come back."""
    return await asyncio.gather(*(_by_events(scenario) for scenario in scenarios))


async def turnkeep_client(scenarios: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each scenario's message."""
    return await asyncio.gather(*(_by_run(scenario) for scenario in scenarios))


async def _by_events(scenario: dict[str, Any]) -> dict[str, Any]:
    api, headers = scenario["api"], {"cookie": scenario["cookie"]}
    frames: list[dict[str, Any]] = []
    run, request = "", {"method": "POST", "url": api, "json": _body(scenario)}
    async with httpx.AsyncClient(headers=headers, timeout=SECONDS) as client:
        while not frames or frames[-1]["type"] != "finish":
            try:
                async with aconnect_sse(client, **request) as source:
                    run = f"{api}/{quote(source.response.headers['x-workflow-run-id'])}"
                    async for event in source.aiter_sse():
                        await _take(client, run, scenario, event, frames)
            except httpx.TransportError:
                last = {"last-event-id": str(len(frames) - 1)}
                request = {"method": "GET", "url": f"{run}/stream", "headers": last}
    return {"frames": frames}


async def _take(
    client: httpx.AsyncClient, run: str, scenario: dict[str, Any], event: ServerSentEvent, frames: list[dict[str, Any]]
) -> None:
    if event.data == "[DONE]":
        return
    assert event.id == str(len(frames))
    frame = json.loads(event.data)
    frames.append(frame)
    if frame["type"] == "tool-approval-request" and "decide" in scenario:
        await client.post(f"{run}/input", json={**scenario["decide"], "approvalId": frame["approvalId"]})
    if "stopAt" in scenario and scenario["stopAt"] in frame.get("delta", ""):
        await client.post(f"{run}/stop")


async def _by_run(scenario: dict[str, Any]) -> dict[str, Any]:
    url = scenario["api"].removesuffix("/api/chat")
    async with (
        httpx2.AsyncClient(base_url=url, headers={"cookie": scenario["cookie"]}, timeout=SECONDS) as http,
        AsyncClient(url, http=http) as client,
    ):
        run = client.ask(scenario["text"], conversation_id=scenario["chatId"])
        async for event in run:
            if event.type == "tool-approval-request" and "decide" in scenario:
                decided = {**scenario["decide"], "approvalId": event.frame["approvalId"]}
                await http.post(f"{scenario['api']}/{quote(run.handle)}/input", json=decided)
            if "stopAt" in scenario and scenario["stopAt"] in event.text:
                await run.stop()
        return {"message": run.message, "outcome": run.outcome}


def _body(scenario: dict[str, Any]) -> dict[str, Any]:
    return {"message": scenario["text"], "conversation_id": scenario["chatId"]}
