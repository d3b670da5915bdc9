"""`python -m tests.crash [--seed S] [--count N] [--kill KILL]… [--case CASE]… [--bug NAME]`: `make crash`."""

import argparse
import asyncio
import platform
import sys
from datetime import UTC, datetime

from tests.crash.bugs import BUGS
from tests.crash.cases import KILLS, parse_case
from tests.crash.suite import Suite
from tests.crash.table import table


def main() -> int:
    """Run the suite and print its table. 1 where something was violated; with a seeded bug, where nothing was."""
    arguments = _arguments()
    suite = Suite(seed=arguments.seed, bug=arguments.bug, hits=tuple(arguments.kill) or KILLS, say=_say)
    asyncio.run(suite.run(arguments.count, [parse_case(text) for text in arguments.case] * arguments.times))
    about = f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, seed {suite.seed}"
    _say(f"\n{about}: {suite.summary}\n\n{table(suite.results)}")
    return int(bool(suite.violations) != bool(suite.bug))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make crash")
    parser.add_argument("--seed", default=f"{datetime.now(UTC):%Y%m%d}")
    parser.add_argument("--count", type=int, default=2_000, help="pairs of turn and kill")
    parser.add_argument("--case", action="append", default=[], metavar="TURN:KILL:POINT:NUMBER")
    parser.add_argument("--kill", action="append", default=[], choices=KILLS, help="only this; may be given again")
    parser.add_argument("--times", type=int, default=1, help="how often each case is hit")
    parser.add_argument("--bug", choices=("", *BUGS), default="")
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
