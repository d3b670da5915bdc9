"""A PostgreSQL server of the test session's own, on a unix socket, from Debian's package."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "turnkeep"
# The data dies with the session: no need to wait for the disk.
OPTIONS = "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off"


def _program(name: str) -> str:
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    found = shutil.which(name) or (str(versions[-1]) if versions else None)
    if found is None:
        raise RuntimeError(f"{name} is missing: apt-get install postgresql")
    return found


@contextmanager
def postgresql_server() -> Iterator[str]:
    """Start a server and yield the address of its database."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    account = None
    if os.geteuid() == 0:  # the server refuses to run as root; Debian's package brings an account for it
        account = "postgres"
        shutil.chown(folder, account)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, user=account, cwd=folder, stdout=subprocess.DEVNULL, timeout=20)

    data, log = str(folder / "data"), str(folder / "log")
    try:
        run(_program("initdb"), "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        run(_program("pg_ctl"), "-D", data, "-l", log, "-w", "-o", f"-k {folder} {OPTIONS}", "start")
        try:
            yield f"postgresql://{USER}@/postgres?host={folder}"
        finally:
            run(_program("pg_ctl"), "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
