"""A suspect turn of the suite in a process of its own, made as the worker that sends it: `python -m tests.crash.alone …`."""

import json
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from app.alone import Errand, answering, carry_out
from app.process import run_process
from app.settings import Settings
from tests.crash.composition import composition


def command(folder: Path, bug: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The command; the errand follows as its last argument."""
    return (sys.executable, "-m", "tests.crash.alone", str(folder), bug, json.dumps(environment))


def main() -> None:
    """Carry the errand out."""
    folder, bug, environment, errand = sys.argv[1:]
    settings = Settings.read(json.loads(environment))
    doing = carry_out(settings, Errand.model_validate_json(errand), answering(), composition(Path(folder), bug))
    run_process("alone", settings, doing)
    logging.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main()
