"""The real nginx with a deployment's configuration, on loopback; only ports and folders are a test's own."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

CONFIGURATION = Path(__file__).parents[1] / "deploy" / "nginx.conf"
SECONDS = 10

_PR_SET_PDEATHSIG = 1


class Front:
    """A running nginx. `stop` gives what it wrote, both logs in one."""

    def __init__(self, port: int, process: subprocess.Popen[str]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._process = process

    def stop(self) -> str:
        self._process.terminate()
        written, _ = self._process.communicate(timeout=SECONDS)
        # Before it reads its configuration it says on the inherited socket that it found it.
        return "\n".join(line for line in written.splitlines() if "[notice]" not in line)


@contextmanager
def front(folder: Path, *processes: str, changes: Mapping[str, str] | None = None) -> Iterator[Front]:
    """An nginx before API processes at these addresses (`host:port`); `changes` replace pieces of its configuration."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        process = subprocess.Popen(
            # As another user its workers could not write into a folder of ours.
            [*command(folder, port, processes, changes), "-g", f"daemon off; {'user root;' * (os.geteuid() == 0)}"],
            # The socket is ours and listens already: nobody else gets the port, and no client has to wait for nginx.
            env={"NGINX": f"{listener.fileno()};"},
            pass_fds=(listener.fileno(),),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=_stop_with_parent,  # noqa: PLW1509 - it makes one system call, and no other thread forks here
        )
    running = Front(port, process)
    try:
        yield running
    finally:
        if process.poll() is None:
            running.stop()


def command(
    folder: Path, port: int, processes: Sequence[str], changes: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """nginx with the configuration as it is written into the folder."""
    binary = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    assert binary is not None, "nginx is missing: apt-get install nginx"
    places = {
        "/tmp/": f"{folder}/",
        "worker_processes auto;": "worker_processes 1;",
        "listen 8080;": f"listen 127.0.0.1:{port};",
        # Debian's nginx is older than `resolve`, and these names are addresses already.
        "server api:8000 resolve fail_timeout=2s;": "".join(f"server {one} fail_timeout=2s;" for one in processes),
    }
    text = CONFIGURATION.read_text()
    for old, new in {**places, **(changes or {})}.items():
        assert old in text, f"{CONFIGURATION.name} has no {old!r} any more"
        text = text.replace(old, new)
    file = folder / "nginx.conf"
    file.write_text(text)
    return (binary, "-c", str(file), "-p", str(folder), "-e", "stderr")


def _stop_with_parent() -> None:
    # Told to stop rather than killed: a killed master leaves its workers.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
