"""Settings as people look at them: the table of the documentation, and the values in force with every secret blacked out."""

import re
from dataclasses import dataclass
from typing import get_args

from pydantic import SecretStr

from app.settings import Settings
from app.settings_fields import mark

_PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One setting: its variable, what holds while it is unset, what it may be, what it is for."""

    name: str
    default: str
    allowed: str
    what: str


def describe() -> tuple[Row, ...]:
    """All settings in reading order."""
    return tuple(
        Row(
            name=str(field.validation_alias),
            default="" if field.default in (None, ()) else str(field.default),
            allowed=mark(field, "allowed")
            or ", ".join(word for word in get_args(field.annotation) if isinstance(word, str)),
            what=field.description or "",
        )
        for field in Settings.model_fields.values()
        if field.validation_alias
    )


def table() -> str:
    """The settings as a Markdown table."""
    lines = ["| setting | default | allowed | what |", "|---|---|---|---|"]
    for row in describe():
        default = f"`{row.default}`" if row.default else ""
        lines.append(f"| `{row.name}` | {default} | {row.allowed} | {row.what} |")
    return "\n".join(lines) + "\n"


def effective(settings: Settings) -> dict[str, str | float | None]:
    """The values in force by variable name: a secret only as "set", an address without its password."""
    return {
        str(field.validation_alias): _shown(getattr(settings, attribute))
        for attribute, field in Settings.model_fields.items()
        if field.validation_alias
    }


def _shown(value: object) -> str | float | None:
    match value:
        case SecretStr() | (SecretStr(), *_):
            return "set"
        case str():
            return _PASSWORD.sub("…@", value)
        case bool() | int() | float():
            return value
        case _:
            return None
