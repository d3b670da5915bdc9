"""The switch as a value: which share of the owners gets the durable path. How it is spelled, and nothing about where it is kept.

    on · true · yes                               everybody
    off · false · no                              nobody
    {"percent": 10, "allow": ["owner", …]}        one owner in ten, and those named

Words may be in any case and padded, as people type them in an emergency. Everything else is refused: a switch that guesses
is found out in the incident it was made for.
"""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from protocol.errors import TurnkeepError
from protocol.json import Json

ALLOWED: Final = 1_000  # names in the allow-list; more are a percentage


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """`percent` of all owners, and those in `allow`, take the durable path."""

    percent: int
    allow: frozenset[str] = frozenset()

    def covers(self, owner: str) -> bool:
        """Whether the owner takes the durable path. Who is in at ten percent is in at twenty."""
        return owner in self.allow or _place(owner) < self.percent

    def to_json(self) -> Json:
        """The canonical spelling, as it is shown."""
        if self in (ON, OFF):
            return "on" if self == ON else "off"
        return {"percent": self.percent, "allow": [*sorted(self.allow)]}

    def to_text(self) -> str:
        """The canonical spelling, as it is stored."""
        value = self.to_json()
        return value if isinstance(value, str) else json.dumps(value)


ON: Final = Switch(percent=100)
OFF: Final = Switch(percent=0)
WORDS: Final = {"on": ON, "true": ON, "yes": ON, "off": OFF, "false": OFF, "no": OFF}


def _whole(value: object) -> object:
    """JSON has one kind of number: 15.0 is 15."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _Canary(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    percent: Annotated[int, BeforeValidator(_whole), Field(ge=0, le=100)]
    allow: list[str] = Field(default_factory=list, max_length=ALLOWED)


def from_text(text: str) -> Switch:
    """The switch that a stored or typed text spells. Raises TurnkeepError of kind "invalid"."""
    if text.lstrip().startswith("{"):
        try:
            return from_json(json.loads(text))
        except ValueError:
            raise _refused() from None
    return from_json(text)


def from_json(value: Json) -> Switch:
    """The switch that a JSON value spells. Raises TurnkeepError of kind "invalid"."""
    if isinstance(value, str):
        word = WORDS.get(value.strip().lower())
        if word is None:
            raise _refused()
        return word
    try:
        canary = _Canary.model_validate(value)
    except ValidationError:
        raise _refused() from None  # not chained: it would quote the value
    return Switch(percent=canary.percent, allow=frozenset(canary.allow))


def _refused() -> TurnkeepError:
    return TurnkeepError("invalid", 'The switch is on, off, or {"percent": 0…100, "allow": [owner, …]}.')


def _place(owner: str) -> int:
    """The owner's place among a hundred, the same in every process and for ever."""
    return int.from_bytes(sha256(owner.encode()).digest()[:8], "big") % 100
