"""A process that stands still, as one does whose machine sleeps or swaps, and does not take all others with it.

Whoever is stopped in the middle of a write to SQLite keeps everybody from writing: that is the file's nature, and
docs/reliability.md says so. What a pause is to show is something else, so it is laid outside of such a write.
"""

import asyncio
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

TRIES: Final = 100
FREE_SECONDS: Final = 1.0  # in which others end what they write; who stands still does not


async def stand_still(pid: int, database: Path | None) -> None:
    """Stop a process, at a moment at which it has nothing begun in this SQLite file.

    Raises:
        RuntimeError: There was no such moment.
    """
    for _ in range(TRIES):
        os.kill(pid, signal.SIGSTOP)
        if database is None or await asyncio.to_thread(_free, database):
            return
        os.kill(pid, signal.SIGCONT)
    raise RuntimeError(f"process {pid} was always writing")


def _free(database: Path) -> bool:
    """Whether somebody can begin to write."""
    with closing(sqlite3.connect(database, timeout=FREE_SECONDS, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        connection.execute("ROLLBACK")
        return True
