"""The whole bench: each measure beside its base line, taken in the same run on servers of its own.

    python -m bench.first_light [--quick] [--only NAME]… [--json FILE] [--record]

A miss of a target is told and is no failure: a timing depends on the machine and on who else uses it. A gap or a duplicate in
what readers got is one: then the exit code is 1. `docs/benchmarks.md` says what each row means.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Final

import uvloop

from app.process import calm_garbage_collector
from bench import append, fan_out, first_token, hot_paths
from bench.fan_out import Load
from bench.page import about, record, spelled
from bench.report import Section, as_json, as_text
from bench.runs import PATIENCE
from checkpoints.redis import RedisRunStore
from resp.address import Address
from resp.client import Client
from resp.push import PushConnection
from tests.servers import running_server

NAMES: Final = ("first-token", "append", "fan-out", "hot-paths")
FILES_BESIDE_READERS: Final = 200  # of the process that holds the readers' ends


def main() -> int:
    """Measure, print, and tell whether everything that was delivered was right."""
    arguments = _arguments()
    only = arguments.only or NAMES
    begun = time.monotonic()
    calm_garbage_collector()  # as in every process of ours: this one writes
    sections: list[Section] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, running_server("valkey", append_only=True) as server:
        for name in NAMES:
            if name in only:
                sys.stderr.write(f"{name} …\n")
                sections += uvloop.run(_measure(name, Path(folder), server.address, quick=arguments.quick))
    effort = {"effort": "quick" if arguments.quick else "full", "seconds": f"{time.monotonic() - begun:.0f}"}
    facts = about() | effort
    text = f"{spelled(facts)}\n{as_text(sections)}\n"
    print(text, end="")
    if arguments.record:
        record("figures", f"```\n{text}```\n")
    if arguments.json:
        arguments.json.write_text(as_json(sections, facts) + "\n")
    return 0 if all(check.holds for section in sections for check in section.checks) else 1


def _measure(name: str, folder: Path, store: Address, *, quick: bool) -> Coroutine[None, None, list[Section]]:
    match name:
        case "first-token":
            tokens = first_token.Effort(rounds=2, turns=20) if quick else first_token.Effort(rounds=5, turns=60)
            return _listed(first_token.measure(folder, store, tokens))
        case "append":
            appends = append.Effort(
                rounds=2 if quick else 5, alone=500, together=5_000, paced_seconds=1 if quick else 2
            )
            return _listed(append.measure(store, appends))
        case "fan-out":
            pairs, seconds = (2, 1.5) if quick else (4, 3.0)
            return fan_out.measure(
                folder, store, fan_out.Effort(loads=_loads(quick=quick), pairs=pairs, seconds=seconds)
            )
        case _:
            return _listed(_hot_paths(store, hot_paths.Effort(rounds=3 if quick else 7, frames=2_000)))


def _loads(*, quick: bool) -> tuple[Load, ...]:
    loads: tuple[Load, ...] = (Load(readers=100, rate=30), Load(readers=1_000, rate=10), Load(readers=5_000, rate=2))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY:  # one process holds the ends of ours and of the base line's readers
        allowed = max(100, (most - FILES_BESIDE_READERS) // 2)
        loads = tuple(Load(readers=min(load.readers, allowed), rate=load.rate) for load in loads)
    return loads[:2] if quick else loads


async def _listed(section: Coroutine[None, None, Section]) -> list[Section]:
    return [await section]


async def _hot_paths(address: Address, effort: hot_paths.Effort) -> Section:
    client, push = Client(address, bounds=PATIENCE), PushConnection(address, bounds=PATIENCE)
    try:
        return await hot_paths.measure(RedisRunStore(client, push), effort)
    finally:
        await push.close()
        await client.close()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.first_light", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="less of everything, within a minute")
    parser.add_argument("--only", action="append", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--record", action="store_true", help="write the table into docs/benchmarks.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file, too")
    return parser.parse_args()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # the interpreter's own way out crashes now and then after a Temporal client ran in it
