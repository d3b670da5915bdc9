"""What was spent, for those who run the service. Behind the internal token.

    {"since", "until", "spend": [{"pipeline", "model", "calls", "open", "estimated", "micro_usd", "tokens"}],
     "today": {"pipeline", "day", "budget_micro_usd", "used_micro_usd"}}

Money is in millionths of a US dollar, a day is UTC's. `open` calls count as reserved, `estimated` ones were cut off before the
provider said what they used. `python -m app spend` prints the same.
"""

import re
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from typing import Final, cast

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.errors import json_response
from api.operations import admit
from api.ports import ApiParts
from api.requests import parse_query
from protocol.errors import TurnkeepError
from protocol.json import JsonObject
from records.records import Records

PIPELINE: Final = "chat"
_EPOCH: Final = date(1970, 1, 1)
_DAY: Final = re.compile(r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}", re.ASCII)


def spend_routes(parts: ApiParts) -> APIRouter:
    """`/internal/spend`."""
    routes = APIRouter(prefix="/internal", tags=["internal"])

    @routes.get("/spend")
    async def spend(request: Request) -> Response:
        """`?since=2026-11-01&until=2026-12-01`: from one day on to before another; unset, today."""
        admit(request, parts.operations.token)
        query = parse_query(request.scope["query_string"])
        days = query.get("since"), query.get("until")
        now_ms, budget = parts.clock.now_ms(), parts.operations.budget_micro_usd
        return json_response(await spent(parts.records, days, now_ms, budget))

    return routes


async def spent(
    records: Records, days: tuple[str | None, str | None], now_ms: int, budget_micro_usd: int
) -> JsonObject:
    """What was spent between two days. Raises TurnkeepError: `invalid`, `unavailable`."""
    today = datetime.fromtimestamp(now_ms / 1_000, UTC).date()
    since = _day(days[0], today)
    until = _day(days[1], max(since, today) + timedelta(days=1))
    totals = await records.spent(_number(since), _number(until))
    return {
        "since": since.isoformat(),
        "until": until.isoformat(),
        "spend": [_shown(cast("JsonObject", asdict(total) | {"usage": total.usage.model_dump()})) for total in totals],
        "today": {
            "pipeline": PIPELINE,
            "day": today.isoformat(),
            "budget_micro_usd": budget_micro_usd,
            "used_micro_usd": await records.used(PIPELINE, _number(today)),
        },
    }


def _shown(total: JsonObject) -> JsonObject:
    return {"tokens" if name == "usage" else name: value for name, value in total.items()}


def _day(text: str | None, unset: date) -> date:
    if text is None:
        return unset
    try:
        # A week is a date to Python as well, and the last day it knows has no next one.
        return date.fromisoformat(text if _DAY.fullmatch(text) else "")
    except ValueError:
        raise TurnkeepError("invalid", "since and until are days: 2026-11-30.") from None


def _number(day: date) -> int:
    return (day - _EPOCH).days
