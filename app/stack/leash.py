"""Runs a command on a leash: when the process that started it dies, in whatever way, the command dies too.

A script, not a module: `python -I -S leash.py PARENT COMMAND…` costs a bare interpreter's start and leaves nothing behind.
Outside Linux there is no such signal; there a killed supervisor leaves parts behind, and the folder stays locked by them.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Put the leash on and become the command."""
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):  # it died before the leash was on
            sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - becoming the command is the purpose; there is no shell to escape from


if __name__ == "__main__":
    main()
