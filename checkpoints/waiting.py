"""What a run store is told of a run that waits for a person, and why it may say no."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Parking:
    """What a run waits for. `taken` is how many inputs are taken in, `until_ms` the wall clock's time at which it ends.

    `waiting` names the tool calls that somebody has to decide or answer.
    """

    taken: int
    until_ms: int
    waiting: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a run was not parked: inputs that were not taken in, or none where a stop is recorded."""

    inputs: tuple[bytes, ...]
