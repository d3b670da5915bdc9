"""`settings`: what is in force here, or the table of the documentation."""

import json
import sys
from argparse import ArgumentParser, Namespace

from app.settings_table import effective, table
from app.stack.state import settings_of_stack


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--table", action="store_true", help="print the table of docs/operations.md instead")


def run(arguments: Namespace) -> int:
    """Print them."""
    settings = settings_of_stack()
    sys.stdout.write(table() if arguments.table else json.dumps(effective(settings), indent=2) + "\n")
    for note in settings.notes:
        sys.stderr.write(f"{note}\n")
    return 0
