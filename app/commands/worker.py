"""`worker`: run durable turns until SIGTERM."""

import asyncio
import logging
import math
import os
from argparse import ArgumentParser, Namespace
from dataclasses import replace

from app.alone import Errand, answering, carry_out
from app.holdings import Report
from app.logs import configure_logs
from app.process import LEAVE_SECONDS, run_process
from app.settings import Settings, environment_with, read_settings
from app.stack.output import PassThrough
from app.stack.parts.own import worker
from app.stack.reclaim import reclaiming
from app.stack.supervisor import Supervisor
from app.worker import work


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--supervised", action="store_true", help="work in a child, and start another when it dies")
    parser.add_argument("--alone", metavar="ERRAND", help="carry out one slice, as a worker asks for it, and leave")
    parser.add_argument("--report-fd", type=int, metavar="N", help="tell this file descriptor which turns are held")
    parser.add_argument("--ready-fd", type=int, metavar="N", help="write a byte to this file descriptor once it polls")


def run(arguments: Namespace) -> int:
    """Work. Does not return after a clean stop."""
    settings = read_settings()
    if arguments.supervised:
        configure_logs(settings, "supervisor")
        asyncio.run(_supervise(settings))
        return 0
    if arguments.alone:
        errand = Errand.model_validate_json(arguments.alone)
        run_process("quarantine", settings, carry_out(settings, errand, answering()))
    else:
        report = None if arguments.report_fd is None else Report(arguments.report_fd)
        run_process("worker", settings, work(settings, arguments.ready_fd, report))
    logging.shutdown()
    # The interpreter's own way out crashes now and then after a Temporal worker ran in it, and tells a wrong exit code.
    os._exit(0)


async def _supervise(settings: Settings) -> None:
    """Keep one worker alive. It may wait for Temporal as long as it takes: nobody waits for it."""
    async with reclaiming(settings) as reclaim:
        started = worker(1, environment=environment_with({}), inherited=(), give_back=reclaim.give_back)
        stages = [[replace(started, ready_seconds=math.inf)]]
        grace_seconds = settings.grace_ms / 1_000 + LEAVE_SECONDS
        await Supervisor(stages, output=PassThrough(), grace_seconds=grace_seconds).run()
