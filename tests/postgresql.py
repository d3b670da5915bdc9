"""PostgreSQL servers for tests, each on a unix socket in a folder of its own, from Debian's package."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.servers import die_with_parent, until_ready

USER = "turnkeep"
# The machine does not die with the tests: what the system has is as good as on the disk.
OPTIONS = ("-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off")


class PostgreSQLServer:
    """A server that can be killed and started again on its data, in a folder made for it."""

    def __init__(self, folder: Path) -> None:
        self.address = f"postgresql://{USER}@/postgres?host={folder}"
        self._folder = folder
        self._data = str(folder / "data")
        self._account = None
        if os.geteuid() == 0:  # the server refuses to run as root; Debian's package brings an account for it
            self._account = "postgres"
            shutil.chown(folder, self._account)
        self._process: subprocess.Popen[bytes] | None = None
        self._drain: threading.Thread | None = None
        made = [
            _program("initdb"),
            "-D",
            self._data,
            "-U",
            USER,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ]
        subprocess.run(made, check=True, user=self._account, cwd=folder, stdout=subprocess.DEVNULL, timeout=20)

    def start(self) -> None:
        """Start it and return when it takes connections."""
        command = (_program("postgres"), "-D", self._data, "-k", str(self._folder), *OPTIONS)
        self._process = subprocess.Popen(
            command,
            user=self._account,
            cwd=self._folder,
            stderr=subprocess.PIPE,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - it makes one system call, and no other thread forks here
        )
        output = self._process.stderr
        assert output is not None
        self._drain = until_ready(output)

    def kill(self) -> None:
        """As a crash does it: all of its processes at once."""
        if self._process is None:
            return
        family = [psutil.Process(self._process.pid), *psutil.Process(self._process.pid).children(recursive=True)]
        for one in family:
            one.send_signal(signal.SIGKILL)
        self._process.wait(10)
        psutil.wait_procs(family, 10)
        self._process = None
        if self._drain is not None:
            self._drain.join()


@contextmanager
def running_postgresql() -> Iterator[PostgreSQLServer]:
    """A fresh server, killed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        server = PostgreSQLServer(folder)
        try:
            server.start()
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder)


@contextmanager
def postgresql_server() -> Iterator[str]:
    """The address of a running one's database."""
    with running_postgresql() as server:
        yield server.address


def _program(name: str) -> str:
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    found = shutil.which(name) or (str(versions[-1]) if versions else None)
    if found is None:
        raise RuntimeError(f"{name} is missing: apt-get install postgresql")
    return found
