"""`erase`: erase what was deleted, now or where it is due; or all that one owner has. May be broken off and begun again."""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from typing import Final

from app.clock import SystemClock
from app.stack.state import settings_of_stack
from checkpoints.port import RunStore
from checkpoints.redis import RedisRunStore
from dispatch.erasure import Erasure
from protocol.errors import TurnkeepError
from records.records import Records
from resp.address import parse_address
from resp.client import Client
from resp.keys import Keys
from resp.push import PushConnection

AT_ONCE: Final = 50


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--now", action="store_true", help="also what is not due yet")
    parser.add_argument(
        "--owner",
        metavar="OWNER",
        help="delete all conversations of this owner first, and end their runs; implies --now",
    )
    parser.add_argument("--tenant", help="where the owner lives; unset, TURNKEEP_TENANT")


def run(arguments: Namespace) -> int:
    """Erase, and print how many conversations that were."""
    try:
        erased = asyncio.run(_with_parts(arguments))
    except TurnkeepError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.write(f"{erased} erased\n")
    return 0


async def _with_parts(arguments: Namespace) -> int:
    settings = settings_of_stack()
    owner = owner_of(arguments, settings.tenant)
    address = parse_address(settings.redis_url)
    client, push = Client(address), PushConnection(address)
    after_ms = 0 if arguments.now or owner else settings.erase_after_seconds * 1_000
    try:
        async with Records(settings.database_url) as records:
            store = RedisRunStore(client, push, keys=Keys(f"{settings.redis_prefix}:"))
            kept_ms = settings.retention_seconds * 1_000
            return await erase(records, store, owner, after_ms=after_ms, kept_ms=kept_ms)
    finally:
        await push.close()
        await client.close()


def owner_of(arguments: Namespace, tenant: str) -> tuple[str, str] | None:
    """(tenant, owner), where one is named. Raises TurnkeepError: `invalid` for a tenant alone, whose owners stay."""
    if arguments.owner is not None:
        return tenant if arguments.tenant is None else arguments.tenant, arguments.owner
    if arguments.tenant is not None:
        raise TurnkeepError("invalid", "--tenant says where the owner lives that --owner names.")
    return None


async def erase(
    records: Records, store: RunStore, owner: tuple[str, str] | None, *, after_ms: int, kept_ms: int
) -> int:
    """Erase what is due, after deleting all that (tenant, owner) has where one is named. Raises TurnkeepError."""
    clock = SystemClock()
    while owner is not None and await records.delete_all(*owner, clock.now_ms(), AT_ONCE):
        pass
    rounds = Erasure(records, store, clock, after_ms=after_ms, kept_ms=kept_ms)
    erased = 0
    while some := await rounds.round():
        erased += some
    if owner is not None:
        await records.files.drop(*owner)
    return erased
