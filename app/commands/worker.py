"""`worker`: run durable turns until SIGTERM."""

import logging
import os
from argparse import ArgumentParser, Namespace

from app.process import run_process
from app.settings import read_settings
from app.worker import work


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--ready-fd", type=int, metavar="N", help="write a byte to this file descriptor once it polls")


def run(arguments: Namespace) -> int:
    """Work. Does not return after a clean stop."""
    settings = read_settings()
    run_process("worker", settings, work(settings, arguments.ready_fd))
    logging.shutdown()
    # The interpreter's own way out crashes now and then after a Temporal worker ran in it, and tells a wrong exit code.
    os._exit(0)
