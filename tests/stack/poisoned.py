"""A worker whose assistant has a tool that takes its process with it: `python -m tests.stack.poisoned`, options as `app worker`."""

import logging
import os
import signal
import sys
from argparse import ArgumentParser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from app.alone import Errand, answering, carry_out
from app.commands.worker import configure
from app.compose import Core, core
from app.holdings import Report
from app.process import run_process
from app.settings import Settings, read_settings
from app.worker import work
from assistants.demo import NAME
from tools.declare import tool

COMMAND = (sys.executable, "-m", "tests.stack.poisoned")


@tool(repeat="safe")
async def poison() -> str:
    """End the process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


@asynccontextmanager
async def poisoned(settings: Settings) -> AsyncIterator[Core]:
    """What every process has, and the tool."""
    async with core(settings) as parts:
        demo = parts.assistants[NAME]
        yield replace(parts, assistants={NAME: replace(demo, tools=(*demo.tools, poison))})


def main() -> None:
    parser = ArgumentParser()
    configure(parser)
    arguments, settings = parser.parse_args(), read_settings()
    if arguments.alone:
        errand = Errand.model_validate_json(arguments.alone)
        run_process("quarantine", settings, carry_out(settings, errand, answering(), poisoned))
    else:
        report, alone = Report(arguments.report_fd), (*COMMAND, "--alone")
        run_process("worker", settings, work(settings, arguments.ready_fd, report, compose=poisoned, alone=alone))
    logging.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main()
