"""Routes for those who run the service: health, metrics, and /internal behind its token.

Without a token nothing under /internal exists: it answers like any unknown address. `python -m app` is the way then.
"""

import asyncio
import hmac

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.bodies import parse_object, read_body
from api.errors import json_response, not_found
from api.ports import ApiParts, Probe
from api.requests import parse_query, parse_smoke
from protocol.errors import TurnkeepError
from protocol.json import JsonObject


def health_routes(parts: ApiParts, draining: asyncio.Event) -> APIRouter:
    """`/healthz` says that the process serves, `/readyz` that it should be given work."""
    routes = APIRouter(tags=["health"])

    @routes.get("/healthz")
    async def healthz() -> Response:
        return json_response({"status": "ok"})

    @routes.get("/readyz")
    async def readyz() -> Response:
        probes = parts.operations.probes
        answers = await asyncio.gather(*(_answers(probe, parts.limits.probe_ms) for probe in probes.values()))
        up = dict(zip(probes, answers, strict=True))
        ready = not draining.is_set() and all(up[name] or not probe.required for name, probe in probes.items())
        parts_up: JsonObject = {name: "up" if answer else "down" for name, answer in up.items()}
        return json_response({"ready": ready, "draining": draining.is_set(), "parts": parts_up}, 200 if ready else 503)

    @routes.get("/metrics")
    async def metrics() -> Response:
        return Response(parts.operations.metrics(), media_type="text/plain; version=0.0.4")

    return routes


async def _answers(probe: Probe, bound_ms: int) -> bool:
    try:
        async with asyncio.timeout(bound_ms / 1000):
            return await probe.check()
    except Exception:  # noqa: BLE001 - whatever a probe dies of, its part is not up
        return False


def internal_routes(parts: ApiParts) -> APIRouter:
    """`/internal/*`: the switch, the effective settings, a smoke turn."""
    routes = APIRouter(prefix="/internal", tags=["internal"])
    dispatch, operations, limits = parts.dispatch, parts.operations, parts.limits

    @routes.get("/dispatch")
    async def show_switch(request: Request) -> Response:
        admit(request, operations.token)
        return json_response(await dispatch.status())

    @routes.put("/dispatch")
    async def set_switch(request: Request) -> Response:
        admit(request, operations.token)
        body = await read_body(request.receive, limits.body_bytes)
        return json_response(await dispatch.set_switch(parse_object(body, limits.body_depth)))

    @routes.get("/settings")
    async def settings(request: Request) -> Response:
        admit(request, operations.token)
        return json_response(operations.settings)

    @routes.post("/smoke")
    async def smoke(request: Request) -> Response:
        admit(request, operations.token)
        return json_response(await operations.smoke(parse_smoke(parse_query(request.scope["query_string"]))))

    return routes


def admit(request: Request, token: str | None) -> None:
    """Let through who has the internal token. Raises TurnkeepError."""
    if token is None:
        raise not_found()
    given = request.headers.get("authorization", "").encode("latin-1")
    # On bytes and in constant time: a header may hold any byte, and how much of it is right must not be measurable.
    if not hmac.compare_digest(given, f"Bearer {token}".encode()):
        raise TurnkeepError("unauthenticated", "This address needs the internal token.")
