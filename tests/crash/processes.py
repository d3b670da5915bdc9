"""What the children of the suite run. They are forked from one process that has imported everything: a start costs
milliseconds, and there are thousands of them. None outlives the suite.

What a supervisor starts, and what runs a suspect turn alone, are processes from scratch, as they are in production:
`python -m tests.crash.processes CHILD` with the options of `app worker`.
"""

import asyncio
import ctypes
import multiprocessing
import os
import signal
import socket
import sys
import threading
from argparse import ArgumentParser
from multiprocessing.process import BaseProcess
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from app.alone import Errand, answering, carry_out
from app.commands.worker import configure
from app.holdings import Holdings, Report
from app.main import serve
from app.process import run_process
from app.settings import Settings
from app.stack.output import Output
from app.stack.part import Part
from app.stack.supervisor import Supervisor
from app.worker import work
from tests.crash.bugs import reclaim_of
from tests.crash.composition import composition
from tests.crash.points import announce

_PR_SET_PDEATHSIG = 1


class Child(BaseModel):
    """One process: its name, what it reads as its environment, and the seeded bug it has, if any."""

    model_config = ConfigDict(frozen=True)

    name: str
    folder: Path
    environment: dict[str, str]
    bug: str = ""
    port: int = 0  # of an API


def run_worker(child: Child, report: Report | None = None) -> None:
    """A worker process."""
    settings, ready = _begin(child)
    made, alone = composition(child.folder, child.bug), (*_command(child), "--alone")

    async def main() -> None:
        _count_when_asked(child)
        await work(settings, ready, report, compose=made, alone=alone)

    run_process(child.name, settings, main())
    os._exit(0)


def run_supervisor(child: Child) -> None:
    """A supervisor and, under it, the worker that is meant. It tells the suite when it has given back what a dead one held."""
    settings = _settings(child)

    async def main() -> None:
        async with reclaim_of(child.bug, settings) as reclaim:

            async def give_back(holdings: Holdings) -> None:
                await reclaim.give_back(holdings)
                os.close(announce(child.folder, child.name, "gave", 0))

            environment = dict(os.environ)
            part = Part(
                name=child.name, command=_command(child), environment=environment, probe=_at_once, give_back=give_back
            )
            await Supervisor([[part]], output=Output(), grace_seconds=1.0).run()

    run_process(f"supervisor of {child.name}", settings, main())


async def _at_once() -> bool:
    return True  # the worker tells the suite itself when it can be used


def _command(child: Child) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.crash.processes", child.model_dump_json())


def run_api(child: Child) -> None:
    """An API process."""
    settings, ready = _begin(child)
    listener = socket.create_server(("127.0.0.1", child.port), backlog=256)

    async def main() -> None:
        _count_when_asked(child)
        serving = asyncio.create_task(serve(settings, listener, compose=composition(child.folder, child.bug)))
        os.write(ready, b".")
        os.close(ready)
        await serving

    run_process(child.name, settings, main())
    os._exit(0)


def _count_when_asked(child: Child) -> None:
    """On SIGUSR1 tell the suite how many tasks there are."""

    def tell() -> None:
        os.close(announce(child.folder, child.name, "tasks", len(asyncio.all_tasks())))

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, tell)


def _begin(child: Child) -> tuple[Settings, int]:
    return _settings(child), announce(child.folder, child.name, "ready", os.getpid())


def _settings(child: Child) -> Settings:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    suite = multiprocessing.parent_process()
    if suite is not None:  # it was forked by a server of the suite's, which lives as long as any of us
        threading.Thread(target=_follow, args=(suite,), daemon=True).start()
    log = os.open(child.folder / f"{child.name}.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    return Settings.read(child.environment)


def _follow(suite: BaseProcess) -> None:
    suite.join()
    os._exit(1)


def main() -> None:
    """A worker under a supervisor, or one slice alone."""
    parser = ArgumentParser()
    parser.add_argument("child", type=Child.model_validate_json)
    configure(parser)
    arguments = parser.parse_args()
    child: Child = arguments.child
    if not arguments.alone:
        run_worker(child, Report(arguments.report_fd))
    tell = answering()
    settings, errand = _settings(child), Errand.model_validate_json(arguments.alone)
    run_process("quarantine", settings, carry_out(settings, errand, tell, composition(child.folder, child.bug)))
    os._exit(0)


if __name__ == "__main__":
    main()
