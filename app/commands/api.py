"""`api`: serve HTTP until SIGTERM."""

import socket
import sys
from argparse import ArgumentParser, Namespace

from app.main import serve
from app.process import run_process
from app.settings import read_settings
from app.stack.ports import PortTaken, listen


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--fd", type=int, metavar="N", help="serve on this listening socket instead of an address")


def run(arguments: Namespace) -> int:
    """Serve."""
    settings = read_settings()
    try:
        listener = (
            listen(settings.host, given=settings.port) if arguments.fd is None else socket.socket(fileno=arguments.fd)
        )
    except PortTaken as failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    run_process("api", settings, serve(settings, listener))
    return 0
