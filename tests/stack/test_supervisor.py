"""The supervisor over small parts of its own: order, restarts, stopping, and what a killed supervisor leaves."""

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app.holdings import Holdings
from app.stack.output import Output
from app.stack.part import Part, PartFailed
from app.stack.supervisor import Supervisor
from tests.stack.screen import Screen

SERVE = """
import os, signal, sys
log = open(sys.argv[1], "a", buffering=1)
name, announced = sys.argv[2], int(sys.argv[-1])
def end(*_):
    log.write(f"{name} stops\\n")
    sys.exit()
signal.signal(signal.SIGTERM, signal.SIG_IGN if name == "deaf" else end)
log.write(f"{name} starts\\n")
os.write(announced, b".")
print(f"{name} is process {os.getpid()}", flush=True)
while True:
    signal.pause()
"""


def part(tmp_path: Path, name: str, code: str = SERVE) -> Part:
    command = (sys.executable, "-c", code, str(tmp_path / "log"), name)
    return Part(name=name, command=command, environment={"PATH": os.defpath}, ready_seconds=10)


def pid_of(screen: Screen, name: str) -> int:
    return int(screen.getvalue().rpartition(f"{name} is process ")[2].split()[0])


async def test_parts_start_in_order_and_stop_in_reverse(tmp_path: Path) -> None:
    stages = [[part(tmp_path, "store")], [part(tmp_path, "worker")], [part(tmp_path, "api")]]
    supervisor = Supervisor(stages, output=Output(Screen()), grace_seconds=10)

    await supervisor.start()
    await supervisor.stop()

    expected = ["store starts", "worker starts", "api starts", "api stops", "worker stops", "store stops"]
    assert (tmp_path / "log").read_text().splitlines() == expected  # C20


async def test_a_part_that_is_killed_is_started_again(tmp_path: Path) -> None:
    screen = Screen()
    supervisor = Supervisor([[part(tmp_path, "worker")]], output=Output(screen), grace_seconds=10)
    await supervisor.start()
    await screen.shows("worker is process")

    first = pid_of(screen, "worker")
    os.kill(first, signal.SIGKILL)
    await screen.shows("worker is ready", times=2)
    await screen.shows("worker is process", times=2)

    assert "worker was killed by SIGKILL; starting it again in 0.1 s" in screen.getvalue()
    assert pid_of(screen, "worker") != first
    await supervisor.stop()


async def test_a_part_that_hangs_is_ended_and_started_again(tmp_path: Path) -> None:
    """FR30: its loop does not turn, so nothing in it would ever notice."""
    screen, given = Screen(), asyncio.Event()

    async def give_back(_: Holdings) -> None:
        given.set()

    hanging = replace(part(tmp_path, "worker", HANG), give_back=give_back, silence_seconds=0.1)
    supervisor = Supervisor([[hanging]], output=Output(screen), grace_seconds=10)
    await supervisor.start()

    await screen.shows("worker hangs: it has said nothing for 0.1 s")
    await screen.shows("worker was killed by SIGKILL; starting it again in 0.1 s")
    await screen.shows("worker is ready", times=2)

    assert given.is_set()
    await supervisor.stop()


async def test_a_part_that_cannot_start_ends_the_start(tmp_path: Path) -> None:
    stages = [[part(tmp_path, "store")], [part(tmp_path, "broken", "raise SystemExit(3)")], [part(tmp_path, "api")]]
    supervisor = Supervisor(stages, output=Output(Screen()), grace_seconds=10)

    with pytest.raises(PartFailed, match="broken ended with code 3"):
        await supervisor.start()
    await supervisor.stop()

    assert (tmp_path / "log").read_text().splitlines() == ["store starts", "store stops"]


async def test_a_part_that_does_not_stop_in_time_is_ended(tmp_path: Path) -> None:
    supervisor = Supervisor([[part(tmp_path, "deaf")]], output=Output(Screen()), grace_seconds=0)
    await supervisor.start()

    await supervisor.stop()

    assert (tmp_path / "log").read_text() == "deaf starts\n"


async def test_parts_die_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ALONE, str(tmp_path)), stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert process.stdout is not None
    await process.stdout.readuntil(b"worker is ready\n")

    process.kill()
    await process.wait()

    await process.stdout.read()  # the part holds the pipe's other end: the end of the stream is the end of the part


HANG = """
import os, signal, sys
os.write(int(sys.argv[sys.argv.index("--ready-fd") + 1]), b".")
os.write(int(sys.argv[sys.argv.index("--report-fd") + 1]), b"alive\\n")
while True:
    signal.pause()
"""

ALONE = """
import asyncio, sys
from tests.stack.test_supervisor import supervise
asyncio.run(supervise(sys.argv[1]))
"""


async def supervise(folder: str) -> None:
    """A supervisor whose one part inherits our output, for a process of its own."""
    output = os.dup(1)
    command = (sys.executable, "-c", SERVE, str(Path(folder) / "log"), "worker")
    worker = Part(name="worker", command=command, environment={"PATH": os.defpath}, inherited=(output,))
    await Supervisor([[worker]], output=Output(), grace_seconds=1).start()
    os.close(output)
    await asyncio.Event().wait()
