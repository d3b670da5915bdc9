"""Starts llmock, a fake of others' making that breaks streams on demand, in a virtual environment of its own.

The environment is made once beside its lock, in `tests/llmock`. Why not in ours: see `requirements.in` there.
"""

import fcntl
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from protocol.json import JsonObject

FOLDER = Path(__file__).parents[1] / "llmock"
PYTHON = FOLDER / ".venv" / "bin" / "python"
SERVE = (
    "import sys; from llmock.testing import LLMockServer\n"
    "with LLMockServer() as server: print(server.url, flush=True); sys.stdin.read()"
)


class LLMock:
    """A running llmock. Its Messages API is at `url`."""

    def __init__(self, root: str) -> None:
        self.url = f"{root}/anthropic"
        self._root = root

    def script(self, *behaviors: JsonObject) -> None:
        """What the next calls meet, in place of what was scripted before."""
        httpx2.post(f"{self._root}/_llmock/reset").raise_for_status()
        httpx2.post(f"{self._root}/_llmock/scenario", json={"behaviors": [*behaviors]}).raise_for_status()


@pytest.fixture(scope="session")
def llmock() -> Iterator[LLMock]:
    _install()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [PYTHON, "-c", SERVE], stdin=pipe, stdout=pipe, text=True
    ) as process:  # it ends with its input
        assert process.stdout is not None
        yield LLMock(process.stdout.readline().strip())
        process.communicate()


def _install() -> None:
    wanted = FOLDER / "requirements.txt"
    with wanted.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parallel workers install once
        done = FOLDER / ".venv" / ".installed"
        if done.exists() and done.read_text() == wanted.read_text():
            return
        venv.create(FOLDER / ".venv", with_pip=True)
        pip = f"{PYTHON} -m pip install --quiet --disable-pip-version-check --require-hashes -r {wanted}"
        subprocess.run(pip.split(), check=True)
        done.write_text(wanted.read_text())
