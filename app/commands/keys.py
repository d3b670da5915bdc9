"""`keys`: make, list and revoke API keys. A key is printed when it is made and never again: the records hold its hash."""

import asyncio
import json
import secrets
import sys
import time
from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from api.identity import KeyRight
from api.keys import new_key
from app.settings import Settings
from app.stack.state import settings_of_stack
from protocol.errors import TurnkeepError
from protocol.json import JsonObject
from records.records import Records
from records.values import ApiKey

RIGHTS: tuple[KeyRight, ...] = ("read", "write", "act_for")
_MS_OF_A_DAY = 86_400_000


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make a key and print it, this once")
    create.add_argument("name", help="what it is for, to know it by in the list")
    create.add_argument("--owner", required=True, help="whose conversations it opens")
    create.add_argument("--tenant", help="where the owner lives; unset, TURNKEEP_TENANT")
    create.add_argument("--tier", default="", help="chooses among models")
    create.add_argument("--days", type=int, choices=range(1, 3_651), metavar="1…3650", help="life; unset, no end")
    create.add_argument(
        "--right", action="append", choices=RIGHTS, help="read and write where none is named; act_for: names the owner"
    )
    actions.add_parser("list", help="print all keys, without what opens them")
    actions.add_parser("revoke", help="let a key open nothing any more").add_argument("prefix", metavar="PREFIX")


def run(arguments: Namespace) -> int:
    """Carry it out, and print one JSON object a line."""
    settings = settings_of_stack()
    try:
        lines = asyncio.run(_in_records(settings, arguments))
    except TurnkeepError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.write("".join(f"{json.dumps(line)}\n" for line in lines))
    return 0


async def _in_records(settings: Settings, arguments: Namespace) -> list[JsonObject]:
    async with Records(settings.database_url) as records:
        return await carry_out(records, arguments, tenant=settings.tenant, now_ms=time.time_ns() // 1_000_000)


async def carry_out(records: Records, arguments: Namespace, *, tenant: str, now_ms: int) -> list[JsonObject]:
    """The lines of the command's answer. Raises TurnkeepError."""
    match arguments.action:
        case "create":
            return [await _create(records, arguments, tenant, now_ms)]
        case "revoke":
            if not await records.revoke_key(arguments.prefix, now_ms):
                raise TurnkeepError("not_found", "There is no key of this prefix.")
            return [{"prefix": arguments.prefix, "revoked": True}]
        case _:
            return [_shown(key) for key in await records.keys()]


async def _create(records: Records, arguments: Namespace, tenant: str, now_ms: int) -> JsonObject:
    made = new_key(secrets.token_bytes)
    key = ApiKey(
        prefix=made.prefix,
        digest=made.digest,
        name=arguments.name,
        owner=arguments.owner,
        tenant=tenant if arguments.tenant is None else arguments.tenant,
        rights=frozenset(arguments.right or ("read", "write")),
        tier=arguments.tier,
        created_ms=now_ms,
        expires_ms=None if arguments.days is None else now_ms + arguments.days * _MS_OF_A_DAY,
    )
    await records.add_key(key)
    return {"key": made.text, **_shown(key)}


def _shown(key: ApiKey) -> JsonObject:
    return {name: value for name, value in asdict(key).items() if name != "digest"} | {"rights": sorted(key.rights)}
