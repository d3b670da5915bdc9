"""`spend`: what was spent, by pipeline and model, and what is left of today's budget, as `/internal/spend` tells it."""

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace

from api.spend import spent
from app.clock import SystemClock
from app.stack.state import settings_of_stack
from protocol.errors import TurnkeepError
from protocol.json import JsonObject
from records.records import Records


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--since", metavar="DAY", help="first day, 2026-11-30; unset, today (UTC)")
    parser.add_argument("--until", metavar="DAY", help="the day after the last one; unset, tomorrow")


def run(arguments: Namespace) -> int:
    """Print it."""
    try:
        answer = asyncio.run(_ask(arguments))
    except TurnkeepError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.write(json.dumps(answer, indent=2) + "\n")
    return 0


async def _ask(arguments: Namespace) -> JsonObject:
    settings = settings_of_stack()
    async with Records(settings.database_url) as records:
        days = arguments.since, arguments.until
        return await spent(records, days, SystemClock().now_ms(), settings.budget_micro_usd)
