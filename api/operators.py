"""Runs as those who run the service see them: all owners', without content, page by page. Behind the internal token."""

from collections.abc import Mapping
from typing import Final, cast

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.bodies import parse_object, read_body
from api.errors import json_response, not_found
from api.gate import Gate
from api.operations import admit
from api.ports import ApiParts
from api.requests import parse_limit, parse_query, parse_state
from api.run_view import cursor_of, for_operators, parse_after
from api.stopping import stop_run
from protocol.errors import TurnkeepError
from protocol.json import Json, JsonObject
from records.values import Run, RunFilter

PAGE: Final = 100
MOST: Final = 1_000


def operator_routes(parts: ApiParts, gate: Gate) -> APIRouter:
    """`/internal/runs`."""
    routes = APIRouter(prefix="/internal/runs", tags=["internal"])

    @routes.get("")
    async def runs(request: Request) -> Response:
        """Runs, the newest first: `{"runs", "next"}`. `?state=` is a status or `unfinished`; also `owner`, `tenant`, `limit`, `after`."""
        admit(request, parts.operations.token)
        query = parse_query(request.scope["query_string"])
        limit = parse_limit(query, PAGE, MOST)
        wanted = _filter(parts, query, "")
        page = await _page(parts, wanted, query.get("after"), limit)
        return json_response({"runs": [for_operators(row) for row in page], "next": _next(page, limit)})

    @routes.post("/stop")
    async def stop(request: Request) -> Response:
        """Stop runs: `{"run_ids": […]}`, or a page of those that have not ended by `{"owner"?, "tenant"?, "state"?, "after"?}`.

        `{"runs": [{"run_id", "status"}], "next"}`; `status` is as for one run, or the kind of what kept it from being stopped.
        """
        admit(request, parts.operations.token)
        body = parse_object(await read_body(request.receive, parts.limits.body_bytes), parts.limits.body_depth)
        names, following = await _named(parts, body)
        stopped: list[Json] = [{"run_id": name, "status": await _stop(parts, gate, name)} for name in names]
        return json_response({"runs": stopped, "next": following})

    return routes


def _filter(parts: ApiParts, said: Mapping[str, str], state: str) -> RunFilter:
    tenant = said.get("tenant", parts.tenant)
    return RunFilter(tenant=tenant, owner=said.get("owner", ""), state=parse_state(said.get("state", state)))


async def _page(parts: ApiParts, wanted: RunFilter, after: str | None, limit: int) -> tuple[Run, ...]:
    return await parts.records.runs(wanted, None if after is None else parse_after(after), limit)


def _next(page: tuple[Run, ...], limit: int) -> str | None:
    return cursor_of(page[-1]) if len(page) == limit else None


async def _named(parts: ApiParts, body: JsonObject) -> tuple[list[str], str | None]:
    if unknown := set(body) - {"run_ids", "owner", "tenant", "state", "after"}:
        raise TurnkeepError("invalid", f"There is no field {min(unknown)}.")
    if "run_ids" in body:
        names = body["run_ids"]
        if (
            len(body) > 1
            or not isinstance(names, list)
            or len(names) > MOST
            or not all(isinstance(n, str) for n in names)
        ):
            raise TurnkeepError("invalid", f"run_ids is a list of at most {MOST} ids, and stands alone.")
        return cast("list[str]", names), None
    if not {"owner", "state"} & set(body) or not all(isinstance(value, str) for value in body.values()):
        # An empty body would be all runs there are: that has to be said.
        raise TurnkeepError("invalid", "Say which runs: run_ids, an owner, or a state.")
    said = cast("dict[str, str]", body)
    page = await _page(parts, _filter(parts, said, "unfinished"), said.get("after"), PAGE)
    return [row.run_id for row in page if row.ended_ms is None], _next(page, PAGE)


async def _stop(parts: ApiParts, gate: Gate, run_id: str) -> Json:
    try:
        if await gate.row(run_id) is None:
            raise not_found()
        return (await stop_run(parts, gate, run_id))["status"]
    except TurnkeepError as error:
        return error.kind
