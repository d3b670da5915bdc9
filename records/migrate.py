"""Bringing a database's tables up to what this build needs. Safe when several processes start at once.

Everything happens in one transaction that holds a lock from its first statement, so the second process waits and then
finds nothing to do.
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from records.database import Database

LOCK = 0x7475726E6B656570  # "turnkeep"
MIGRATIONS = Path(__file__).parent / "migrations"
TIMEOUT_MS = 60_000  # others may be migrating before us


async def upgrade(url: str) -> None:
    """Create or upgrade the tables. Raises TurnkeepError `unavailable` where the database does not answer."""
    database = Database(url, TIMEOUT_MS)
    try:
        await database.write(upgrade_on)
    finally:
        await database.close()


def upgrade_on(connection: Connection, revision: str = "head") -> None:
    """Create or upgrade the tables inside the connection's transaction, up to a revision."""
    if connection.dialect.name == "postgresql":  # SQLite's writer has the lock by BEGIN IMMEDIATE
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
    config = Config()
    config.set_main_option(
        "script_location", str(MIGRATIONS).replace("%", "%%")
    )  # alembic's configuration interpolates
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
