"""`dispatch`: the switch between durable and inline, seen by every process within two seconds."""

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace

from app.settings import Settings
from app.stack.state import settings_of_stack
from dispatch.redis import RedisSwitch
from dispatch.switch import ALLOWED, OFF, ON, Switch
from dispatch.watch import SwitchWatch
from protocol.errors import TurnkeepError
from resp.address import parse_address
from resp.client import Client
from resp.keys import Keys


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("status", help="print the switch")
    actions.add_parser("on", help="run all turns durably")
    actions.add_parser("off", help="run all turns inline")
    percent = actions.add_parser("percent", help="run the turns of so many owners in a hundred durably")
    percent.add_argument("percent", type=int, choices=range(101), metavar="0…100")
    allow = actions.add_parser(
        "allow", help="run the turns of these owners durably whatever the percentage; none: nobody's"
    )
    allow.add_argument("owners", nargs="*", metavar="OWNER")


def run(arguments: Namespace) -> int:
    """Look or set, and print what is in force then."""
    try:
        switch = asyncio.run(_carry_out(arguments, settings_of_stack()))
    except TurnkeepError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.write(json.dumps({"switch": switch.to_json()}) + "\n")
    return 0


async def _carry_out(arguments: Namespace, settings: Settings) -> Switch:
    client = Client(parse_address(settings.redis_url))
    try:
        store = RedisSwitch(client, Keys(f"{settings.redis_prefix}:"))
        watch = SwitchWatch(store, default=Switch(percent=settings.first_percent))
        await store.get()  # unlike the watch, it says when there is no store
        await watch.refresh()
        if arguments.action != "status":
            await watch.set(changed(watch.current, arguments))
        return watch.current
    finally:
        await client.close()


def changed(switch: Switch, arguments: Namespace) -> Switch:
    """The switch after the command. Raises TurnkeepError: `invalid`."""
    match arguments.action:
        case "on":
            return ON
        case "off":
            return OFF
        case "percent":
            return replace(switch, percent=arguments.percent)
        case _:
            if len(arguments.owners) > ALLOWED:
                raise TurnkeepError("invalid", f"At most {ALLOWED} owners can be named; more are a percentage.")
            return replace(switch, allow=frozenset(arguments.owners))
