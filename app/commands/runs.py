"""`runs`: look at runs and stop them, without the API. One JSON object a line; what was said is shown only where asked for."""

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, cast, get_args

from api.run_view import cursor_of, for_operators, of_log, parse_after
from app.stack.state import settings_of_stack
from checkpoints.port import RunStore
from checkpoints.redis import RedisRunStore
from frames import sse
from protocol.errors import TurnkeepError
from protocol.json import Json, JsonObject
from protocol.turn import RunStatus
from records.records import Records
from records.values import Run, RunFilter
from resp.address import parse_address
from resp.client import Client
from resp.keys import Keys
from resp.push import PushConnection

PAGE: Final = 100
_PAGE_BYTES: Final = 1024 * 1024
_STATES: Final = ("unfinished", *get_args(RunStatus))


@dataclass(frozen=True, slots=True)
class House:
    """What the command looks at."""

    records: Records
    store: RunStore


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="print runs, the newest first, and where the next page begins")
    _filters(listing)
    listing.add_argument("--limit", type=int, default=PAGE, choices=range(1, 1_001), metavar="1…1000")
    listing.add_argument("--after", default="", metavar="NEXT", help="`next` of the page before")
    actions.add_parser("show", help="print a run and its tool calls").add_argument("run", metavar="RUN")
    stopping = actions.add_parser("stop", help="stop runs: those named, or those of an owner or a state")
    stopping.add_argument("runs", nargs="*", metavar="RUN")
    _filters(stopping)
    replaying = actions.add_parser("replay", help="print a run's log: index, type and size of each frame")
    replaying.add_argument("run", metavar="RUN")
    replaying.add_argument("--from", dest="start", type=int, default=0, metavar="INDEX")
    replaying.add_argument(
        "--content", action="store_true", help="print the frames themselves: what people and models wrote"
    )


def _filters(parser: ArgumentParser) -> None:
    parser.add_argument("--state", default="", choices=_STATES, metavar="STATE", help=", ".join(_STATES))
    parser.add_argument("--owner", default="")
    parser.add_argument("--tenant", default="", help="whose owners; unset, those without a tenant")


def run(arguments: Namespace) -> int:
    """Look or stop, and print what came of it."""
    if arguments.action == "stop" and not (arguments.runs or arguments.owner or arguments.state):
        sys.stderr.write("Say which runs: name them, or give --owner or --state.\n")
        return 2
    try:
        asyncio.run(_print(arguments))
    except TurnkeepError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    return 0


async def _print(arguments: Namespace) -> None:
    async with _house() as house:
        async for line in carry_out(house, arguments):
            sys.stdout.write(json.dumps(line) + "\n")


@asynccontextmanager
async def _house() -> AsyncIterator[House]:
    settings = settings_of_stack()
    address, keys = parse_address(settings.redis_url), Keys(f"{settings.redis_prefix}:")
    client, push = Client(address), PushConnection(address)
    try:
        async with Records(settings.database_url) as records:
            yield House(records, RedisRunStore(client, push, keys=keys))
    finally:
        await push.close()
        await client.close()


def carry_out(house: House, arguments: Namespace) -> AsyncIterator[JsonObject]:
    """The lines of the command's answer. They raise TurnkeepError."""
    match arguments.action:
        case "list":
            return _list(house, arguments)
        case "show":
            return _show(house, arguments.run)
        case "stop":
            return _stop(house, arguments)
        case _:
            return _replay(house, arguments)


async def _list(house: House, arguments: Namespace) -> AsyncIterator[JsonObject]:
    past = parse_after(arguments.after) if arguments.after else None
    page = await house.records.runs(_wanted(arguments, arguments.state), past, arguments.limit)
    for row in page:
        yield for_operators(row)
    if len(page) == arguments.limit:
        yield {"next": cursor_of(page[-1])}


def _wanted(arguments: Namespace, state: str) -> RunFilter:
    return RunFilter(tenant=arguments.tenant, owner=arguments.owner, state=cast("RunStatus", state))


async def _show(house: House, run_id: str) -> AsyncIterator[JsonObject]:
    row = await _row(house, run_id)
    view = await house.store.view(run_id)
    yield for_operators(row) | ({} if view is None else of_log(row, view, await house.store.ledger(run_id)))


async def _row(house: House, run_id: str) -> Run:
    row = await house.records.run(run_id)
    if row is None:
        raise TurnkeepError("not_found", f"There is no run {run_id}.")
    return row


async def _stop(house: House, arguments: Namespace) -> AsyncIterator[JsonObject]:
    """Recorded, and seen by who executes it; where nobody does, the next sweep of a process ends the run."""
    names: Sequence[str] = arguments.runs
    if names:
        for name in names:
            yield {"run_id": name, "status": await _stop_one(house, name)}
        return
    past: tuple[int, str] | None = None
    while page := await house.records.runs(_wanted(arguments, arguments.state or "unfinished"), past, PAGE):
        for row in page:
            if row.ended_ms is None:
                yield {"run_id": row.run_id, "status": await _stop_one(house, row.run_id)}
        past = (page[-1].created_ms, page[-1].run_id)


async def _stop_one(house: House, run_id: str) -> Json:
    view = await house.store.stop(run_id)
    if view is None:
        return "not_found"
    return (
        view.status if view.state == "ended" else "ending" if view.state == "sealed" and not view.stop else "stopping"
    )


async def _replay(house: House, arguments: Namespace) -> AsyncIterator[JsonObject]:
    index = max(0, arguments.start)
    while True:
        page = await house.store.read(arguments.run, index, _PAGE_BYTES)
        if page is None:
            raise TurnkeepError("not_found", f"There is no log of run {arguments.run}.")
        if not page.entries:
            return
        for piece in (piece for entry in page.entries for piece in sse.split(entry.payload)):
            at, frame = sse.decode(piece)
            if at >= index:
                yield {"index": at, "type": frame["type"], "bytes": len(piece)} | (
                    {"frame": cast("JsonObject", frame)} if arguments.content else {}
                )
        index = page.entries[-1].end
