"""Starts aimock, a fake of others' making that speaks the wire of the Messages API. It needs Node 20 and npm.

The package is locked in `tests/node` and installed there once; a missing Node fails the tests, it does not skip them.
"""

import subprocess
from collections.abc import Iterator

import pytest

from tests.npm import NODE, installed

AIMOCK = NODE / "node_modules/@copilotkit/aimock/dist/cli.js"


@pytest.fixture(scope="session")
def aimock() -> Iterator[str]:
    """The address of a running aimock with the turns of `tests/node/aimock.json`."""
    installed(NODE)
    command = ["node", str(AIMOCK), "-p", "0", "-f", str(NODE / "aimock.json"), "--validate-on-load", "--strict"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield _address(process)
        finally:
            process.terminate()
            process.communicate()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line)
        if "listening on " in line:
            return line.rsplit("listening on ", 1)[1].strip()
    raise AssertionError("aimock did not start: " + "".join(said))
