"""One stack per folder: a lock that every part inherits, so that it holds until the last of them is gone (C20)."""

import asyncio
import fcntl
import json
import os
from pathlib import Path

_ORPHANS_SECONDS = 5.0  # parts of a killed supervisor are being killed by the kernel; this only has to outlast that
_LOOK_SECONDS = 0.02


class FolderInUse(Exception):
    """Another stack, or what is left of one, uses the folder. The message says who."""


class FolderLock:
    """A held lock. `fileno` is handed to every part."""

    def __init__(self, file: int) -> None:
        self.fileno = file

    def sign(self, address: str) -> None:
        """Write who holds the lock, for whoever is refused."""
        os.ftruncate(self.fileno, 0)
        os.pwrite(self.fileno, json.dumps({"pid": os.getpid(), "address": address}).encode(), 0)


async def lock_folder(folder: Path) -> FolderLock:
    """Take the lock.

    Raises:
        FolderInUse: at once where its holder lives; where the holder is dead, once its orphans do not go.
    """
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    deadline = asyncio.get_running_loop().time() + _ORPHANS_SECONDS
    while not _locked(file):
        holder = json.loads(os.pread(file, 4_096, 0) or b"{}")
        if _alive(holder.get("pid")) or asyncio.get_running_loop().time() > deadline:
            os.close(file)
            raise FolderInUse(_refusal(folder, holder))
        await asyncio.sleep(_LOOK_SECONDS)
    lock = FolderLock(file)
    lock.sign("")
    return lock


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _alive(pid: object) -> bool:
    if not isinstance(pid, int):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _refusal(folder: Path, holder: dict[str, object]) -> str:
    if not holder:
        return f"{folder} is in use by a stack that is just starting."
    at = f", which answers at {holder['address']}" if holder.get("address") else ""
    return f"{folder} is in use by process {holder['pid']}{at}."
