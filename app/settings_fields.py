"""The kinds of values a setting can have, and how each is read from text.

A switch and a secret are strict: guessing either wrong is found out in the incident it was meant for. Numbers and words of a
fixed set are lenient: `Settings` puts the default in their place and says so.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SecretStr
from pydantic.fields import FieldInfo

from providers.prices import parse_rates

RATE = r"^(off|[1-9][0-9]{0,8}/(second|minute|hour|day))?$"
SHORTEST_SECRET = 32  # bytes; what a random 256-bit key takes

SWITCH_WORDS = {"on": True, "off": False, "true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


def parse_switch(value: object) -> bool:
    """Read a switch: true/false, 1/0, yes/no, on/off, in any case. Raises ValueError for anything else, "" included."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word not in SWITCH_WORDS:
        raise ValueError(f"must be one of {', '.join(SWITCH_WORDS)}")
    return SWITCH_WORDS[word]


def parse_secret(value: object) -> SecretStr | None:
    """Read one secret of ours; empty is none. Raises ValueError where it is too short to be safe."""
    if value is None or isinstance(value, SecretStr):
        return value
    text = str(value).strip()
    if not text:
        return None
    if len(text.encode()) < SHORTEST_SECRET:
        raise ValueError(f"is shorter than {SHORTEST_SECRET} bytes")
    return SecretStr(text)


def parse_key(value: object) -> SecretStr | None:
    """Read a key that somebody else issued: its length is theirs to choose."""
    if value is None or isinstance(value, SecretStr):
        return value
    text = str(value).strip()
    return SecretStr(text) if text else None


def parse_ring(value: object) -> tuple[SecretStr, ...]:
    """Read a key ring: secrets separated by commas, the newest first."""
    if isinstance(value, tuple):
        return value
    secrets = (parse_secret(piece) for piece in str(value).split(","))
    return tuple(secret for secret in secrets if secret is not None)


def parse_prices(value: object) -> str:
    """See that prices can be read. Raises ValueError."""
    parse_rates(str(value))
    return str(value)


Prices = Annotated[str, BeforeValidator(parse_prices)]
Switch = Annotated[bool, BeforeValidator(parse_switch)]
Secret = Annotated[SecretStr | None, BeforeValidator(parse_secret)]
Key = Annotated[SecretStr | None, BeforeValidator(parse_key)]
Ring = Annotated[tuple[SecretStr, ...], BeforeValidator(parse_ring)]


def number(name: str, default: float | None, what: str, between: tuple[float, float]) -> Any:
    """A number in a range, both ends included."""
    low, high = between
    return field(name, default, what, allowed=f"{low:,.0f} to {high:,.0f}", lenient=True, ge=low, le=high)


def word(name: str, default: str, what: str, pattern: str | None = None) -> Any:
    """One word of a set: of the annotation's, or of a pattern's."""
    return field(name, default, what, lenient=True, pattern=pattern)


def text(name: str, default: str, what: str, pattern: str) -> Any:
    """An address or a name. It may carry a password, so it is left out of the repr."""
    return field(name, default, what, pattern=pattern, repr=False)


def secret(name: str, default: object, what: str) -> Any:
    """A secret of ours, or a ring of them."""
    return field(name, default, what, allowed=f"{SHORTEST_SECRET} bytes or more")


def field(name: str, default: object, what: str, *, allowed: str = "", lenient: bool = False, **limits: Any) -> Any:
    """A setting called `name` in the environment. `lenient`: a wrong value falls to the default."""
    marks: dict[str, Any] = {"allowed": allowed, "lenient": lenient}
    return Field(default, validation_alias=name, description=what, json_schema_extra=marks, **limits)


def mark(setting: FieldInfo, name: str) -> Any:
    """What `field` noted beside the limits that pydantic checks."""
    marks = setting.json_schema_extra
    return marks.get(name) if isinstance(marks, dict) else None
