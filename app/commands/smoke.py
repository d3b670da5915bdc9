"""`smoke`: one scripted turn on a deployment, sliced over its workers, or inline."""

import json
import sys
from argparse import ArgumentParser, Namespace

import httpx2

from app.settings import Settings
from app.stack.state import settings_of_stack

_SECONDS = 90.0


def configure(parser: ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "url", nargs="?", default="", metavar="URL", help="the deployment; none: the stack of this folder"
    )
    parser.add_argument("--mode", choices=("sliced", "inline"), default="sliced")


def run(arguments: Namespace) -> int:
    """Run one and print what came of it; 0 where it is as it should be."""
    settings = settings_of_stack()
    if settings.internal_token is None:
        sys.stderr.write("INTERNAL_API_TOKEN is not set.\n")
        return 1
    try:
        answer = httpx2.post(
            f"{(arguments.url or _here(settings)).rstrip('/')}/internal/smoke",
            params={"mode": arguments.mode},
            headers={"authorization": f"Bearer {settings.internal_token.get_secret_value()}"},
            timeout=_SECONDS,
        )
        result = answer.json()
    except (httpx2.HTTPError, ValueError) as error:
        sys.stderr.write(f"No answer: {type(error).__name__}\n")
        return 1
    sys.stdout.write(json.dumps(result) + "\n")
    return 0 if result.get("ok") is True else 1


def _here(settings: Settings) -> str:
    return f"http://{settings.host}:{settings.port}"
