"""The folder of an embedded stack: where each part keeps what it must not lose, and what the next start needs to know.

`environment.json` holds the variables the parts were started with: addresses, so that a restart answers where it did, and
generated secrets, so that handles stay valid. It is readable by its owner alone. Commands read it to reach the stack.
"""

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.settings import Settings, read_settings

_LONGEST_SOCKET = 100  # bytes of a unix socket's path that every system takes


class UnusableFolder(Exception):
    """The folder cannot hold the state. The message says why."""


@dataclass(frozen=True, slots=True)
class StateFolder:
    """Paths below one folder."""

    path: Path

    @property
    def valkey(self) -> Path:
        return self.path / "valkey"

    @property
    def valkey_socket(self) -> Path:
        return self.path / "valkey.sock"

    @property
    def temporal(self) -> Path:
        return self.path / "temporal.sqlite3"

    @property
    def database(self) -> Path:
        return self.path / "turnkeep.sqlite3"

    @property
    def environment(self) -> Path:
        return self.path / "environment.json"


def open_folder(name: str) -> StateFolder:
    """Make the folder where it is missing, for its owner alone.

    Raises:
        UnusableFolder: where no unix socket fits below it.
    """
    path = Path(name).absolute()
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = StateFolder(path)
    folder.valkey.mkdir(exist_ok=True)
    if len(os.fsencode(folder.valkey_socket)) > _LONGEST_SOCKET:
        raise UnusableFolder(f"{path} is too long a path for a unix socket: set TURNKEEP_STATE_DIR to a shorter one.")
    return folder


def remembered(folder: StateFolder) -> dict[str, str]:
    """The variables of the last start, empty before the first."""
    try:
        known: dict[str, str] = json.loads(folder.environment.read_text())
    except FileNotFoundError:
        return {}
    return known


def settings_of_stack() -> Settings:
    """Settings for a command: of the stack last started in the folder here, where there is one; our environment wins."""
    folder = StateFolder(Path(read_settings().state_dir).absolute())
    return read_settings(beneath=remembered(folder))


def remember(folder: StateFolder, environment: Mapping[str, str]) -> None:
    """Write the variables for the next start. A kill in the middle leaves the old file whole."""
    fresh = folder.environment.with_suffix(".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(environment, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder.environment)


def kept_secrets(settings: Settings, known: Mapping[str, str]) -> dict[str, str]:
    """A value for each secret that is not set: the one of the last start, or a new one."""
    unset = [
        *(["CHAT_STREAM_RESUME_SECRET"] if not settings.resume_ring else []),
        *(["INTERNAL_API_TOKEN"] if settings.internal_token is None else []),
    ]
    return {name: known.get(name) or secrets.token_urlsafe(32) for name in unset}
