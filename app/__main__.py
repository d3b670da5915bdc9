"""`python -m app COMMAND`."""

import argparse
import sys
from importlib import import_module
from typing import Final

from app.settings_reading import RefusedSettings

COMMANDS: Final = {
    "dev": "start everything on this machine",
    "api": "serve HTTP",
    "worker": "run durable turns",
    "dispatch": "look at or set the switch between durable and inline",
    "runs": "look at runs and stop them",
    "spend": "print what was spent, and what is left of today's budget",
    "keys": "make, list and revoke API keys",
    "assistants": "print who answers here, and with which tools",
    "erase": "erase what was deleted, or all that one owner has",
    "migrate": "bring the database's tables up to this build",
    "settings": "print the settings in force",
    "smoke": "run one scripted turn on a deployment",
    "requirements": "write docs/requirements.md from the tests",
}
_REFUSED: Final = 78  # EX_CONFIG: starting again without a change is no use


def main(arguments: list[str]) -> int:
    """Carry out one command and return its exit code."""
    if not arguments or arguments[0] not in COMMANDS:
        return _usage(asked=arguments[:1] in (["-h"], ["--help"]))
    name, *rest = arguments
    command = import_module(f"app.commands.{name}")
    parser = argparse.ArgumentParser(prog=f"python -m app {name}", description=COMMANDS[name].capitalize() + ".")
    command.configure(parser)
    try:
        code: int = command.run(parser.parse_args(rest))
    except RefusedSettings as refusal:
        sys.stderr.write(f"Refusing to start with these settings:\n{refusal}\n")
        return _REFUSED
    return code


def _usage(*, asked: bool) -> int:
    lines = ["usage: python -m app COMMAND", "", *(f"  {name:<14}{what}" for name, what in COMMANDS.items())]
    (sys.stdout if asked else sys.stderr).write("\n".join([*lines, ""]))
    return 0 if asked else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
