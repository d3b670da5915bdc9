"""Packages of others from npm: locked in a folder under tests/node and installed there once.

A missing Node fails the tests, it does not skip them. Node 20 or newer and npm are the machine's; version 24 is a wheel.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

NODE = Path(__file__).parent / "node"
SECONDS = 150  # for an installation over a slow line
_FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund")


def installed(folder: Path) -> Path:
    """The folder, with what its lock names in it."""
    lock, done = folder / "package-lock.json", folder / "node_modules/.package-lock.json"
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # parallel workers install once
        if not done.exists() or done.stat().st_mtime < lock.stat().st_mtime:
            # The machine's own npm, and not by our environment: how the network is left is said in its own.
            npm = shutil.which("npm", path=environment()["PATH"])
            assert npm is not None, "npm is missing: apt-get install nodejs npm"
            subprocess.run([npm, "ci", *_FLAGS], cwd=folder, check=True, timeout=SECONDS)
    return folder


def environment(*, newest: bool = False) -> dict[str, str]:
    """What a Node process gets: `newest` puts that of the wheel first, else the machine's own is meant."""
    wheel = [str(Path(sys.executable).parent)] if newest else []
    return {"PATH": os.pathsep.join([*wheel, "/usr/local/bin", os.defpath]), "HOME": str(Path.home())}
