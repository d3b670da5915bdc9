"""`migrate`: bring the database's tables up to this build."""

import asyncio
from argparse import ArgumentParser, Namespace

from app.stack.state import settings_of_stack
from records.migrate import upgrade


def configure(_: ArgumentParser) -> None:
    """It takes none."""


def run(_: Namespace) -> int:
    """Migrate. Safe while others do the same."""
    asyncio.run(upgrade(settings_of_stack().database_url))
    return 0
