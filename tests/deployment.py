"""A deployment without containers: what docker-compose.yml comes to, and the image's files in a folder of a test's own."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from app.stack import leash

ROOT = Path(__file__).parents[1]
SECRETS = {
    name: f"{name:x<64}".lower() for name in ("POSTGRES_PASSWORD", "INTERNAL_API_TOKEN", "CHAT_STREAM_RESUME_SECRET")
}
# docker-compose prints YAML, and the interpreter that it runs on can read it.
_INTERPRETER = "/usr/bin/python3"
_AS_JSON = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"
_WITHOUT = "import runpy, sys; sys.modules |= dict.fromkeys({missing!r}); runpy.run_module('app', run_name='__main__')"


class Refused(Exception):
    """docker-compose did not take the file. The message is what it said."""


def resolved(environment: Mapping[str, str] = SECRETS, *, file: Path | None = None) -> dict[str, Any]:
    """What docker-compose understands, with variables from an environment and from a file in the place of `.env`."""
    binary = shutil.which("docker-compose")
    assert binary is not None, "docker-compose is missing: apt-get install docker-compose"
    with tempfile.NamedTemporaryFile() as empty:
        words = ("--file", str(ROOT / "docker-compose.yml"), "--env-file", str(file or empty.name), "config")
        environment = {"PATH": os.defpath, **environment}
        printed = subprocess.run([binary, *words], env=environment, capture_output=True, text=True, check=False)
    if printed.returncode:
        raise Refused(printed.stderr)
    read = subprocess.run(
        [_INTERPRETER, "-c", _AS_JSON], input=printed.stdout, capture_output=True, text=True, check=True
    )
    value: dict[str, Any] = json.loads(read.stdout)
    return value


def image(folder: Path) -> Path:
    """The files that the image gets, as .dockerignore lets them through."""
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        source = ROOT / line.removeprefix("!")
        if line.startswith("!") and source.is_dir():
            shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif line.startswith("!"):
            shutil.copy(source, folder)
    return folder


def entry(command: Sequence[str]) -> tuple[str, ...]:
    """A container's command behind the image's entry point, with no package that the image has not."""
    return (sys.executable, "-c", _WITHOUT.format(missing=sorted(_missing_modules())), *command)


def leashed(*command: str) -> tuple[str, ...]:
    """A command that dies with us, however we end."""
    return (sys.executable, "-I", "-S", str(leash.__file__), str(os.getpid()), *command)


@cache
def _missing_modules() -> set[str]:
    """What can be imported here and not in the image: the packages of tests, and of the embedded stack."""
    installed = _names(ROOT / "requirements.txt")
    return {
        module
        for module, owners in packages_distributions().items()
        if not any(_canonical(owner) in installed for owner in owners)
    }


def _names(lock: Path) -> set[str]:
    return {_canonical(name) for name in re.findall(r"^([\w.-]+)==", lock.read_text(), re.MULTILINE)}


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
