"""`requirements`: write docs/requirements.md."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.requirements_doc import document, unshown

ROOT = Path(__file__).parents[2]


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--missing", action="store_true", help="only list what is due and has no test")


def run(arguments: Namespace) -> int:
    """Write the page, or name what is missing."""
    missing = unshown(ROOT)
    if arguments.missing:
        sys.stdout.write("".join(f"{name}\n" for name in missing))
        return 1 if missing else 0
    (ROOT / "docs" / "requirements.md").write_text(document(ROOT))
    return 0
