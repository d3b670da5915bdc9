"""The folder of an embedded stack: its lock, its ports, what it remembers."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.settings import Settings
from app.stack.lock import FolderInUse, lock_folder
from app.stack.ports import PortTaken, free_port, listen
from app.stack.state import UnusableFolder, kept_secrets, open_folder, remember, remembered

HOST = "127.0.0.1"
HOLD = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(file, fcntl.LOCK_EX)
os.write(file, sys.argv[2].encode())
print("held", flush=True)
sys.stdin.read()
"""


def hold(folder: Path, content: str) -> subprocess.Popen[bytes]:
    """Another process that holds the lock until its input is closed."""
    command = [sys.executable, "-c", HOLD, str(folder / "lock"), content]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    return holder


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


async def test_a_second_stack_is_refused_and_told_who_is_first(tmp_path: Path) -> None:
    lock = await lock_folder(tmp_path)
    lock.sign("http://127.0.0.1:1")

    with pytest.raises(FolderInUse) as refusal:
        await lock_folder(tmp_path)

    assert str(refusal.value) == f"{tmp_path} is in use by process {os.getpid()}, which answers at http://127.0.0.1:1."
    os.close(lock.fileno)


async def test_what_a_dead_stack_left_behind_is_waited_for(tmp_path: Path) -> None:
    orphan = hold(tmp_path, json.dumps({"pid": dead_process(), "address": ""}))  # C20

    waiting = asyncio.create_task(lock_folder(tmp_path))
    await asyncio.sleep(0)
    assert not waiting.done()
    orphan.communicate()

    os.close((await waiting).fileno)


async def test_the_lock_can_be_taken_again_once_it_is_free(tmp_path: Path) -> None:
    os.close((await lock_folder(tmp_path)).fileno)
    os.close((await lock_folder(tmp_path)).fileno)


def test_the_last_port_is_taken_again_while_it_is_free() -> None:
    with listen(HOST) as first:
        port = first.getsockname()[1]
        with listen(HOST, last=port) as second:
            assert second.getsockname()[1] != port
    with listen(HOST, last=port) as third:
        assert third.getsockname()[1] == port
    assert free_port(HOST, last=port) == port


def test_a_port_that_was_asked_for_is_not_replaced_by_another() -> None:
    with listen(HOST) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken, match=f"Port {port} of 127.0.0.1 is taken"):
            listen(HOST, given=port)


def test_the_folder_is_its_owners_alone_and_remembers(tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path / "state"))

    assert remembered(folder) == {}
    remember(folder, {"A": "1"})
    remember(folder, {"A": "2"})

    assert remembered(folder) == {"A": "2"}
    assert [path.stat().st_mode & 0o777 for path in (folder.path, folder.environment)] == [0o700, 0o600]


def test_a_path_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableFolder, match="TURNKEEP_STATE_DIR"):
        open_folder(str(tmp_path / ("long" * 25)))


def test_secrets_are_made_once_and_those_that_are_set_are_left_alone() -> None:
    made = kept_secrets(Settings.read({}), {})

    assert Settings.read(made).notes == ()  # strong enough
    assert kept_secrets(Settings.read({}), made) == made
    assert list(kept_secrets(Settings.read({"INTERNAL_API_TOKEN": "t" * 32}), {})) == ["CHAT_STREAM_RESUME_SECRET"]


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_a_stack_can_listen_on_ipv6() -> None:
    with listen("::1") as listener:
        assert listener.family == socket.AF_INET6
