"""`dev`: the embedded stack in the foreground."""

import asyncio
import sys
from argparse import ArgumentParser, Namespace

from app.compose import scripts_of
from app.compose_assistants import assistants_of
from app.settings import read_settings
from app.stack.embedded import run as run_stack
from app.stack.lock import FolderInUse
from app.stack.output import OURSELVES, Output
from app.stack.part import PartFailed
from app.stack.ports import PortTaken
from app.stack.state import UnusableFolder


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "--workers", type=int, default=2, choices=range(1, 17), metavar="N", help="worker processes (2)"
    )


def run(arguments: Namespace) -> int:
    """Run until Ctrl-C."""
    settings, output = read_settings(), Output()
    for note in settings.notes:
        output.say(OURSELVES, note)
    assistants_of(settings, scripts_of(settings))  # refuses here, in one line, what every part would refuse
    try:
        asyncio.run(run_stack(settings, workers=arguments.workers, output=output))
    except (FolderInUse, PartFailed, PortTaken, UnusableFolder) as failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    return 0
