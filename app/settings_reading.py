"""How settings are read from an environment, whatever they are.

A number out of range and a word that is not among the allowed ones fall to the default and leave a note, which is logged at
start: a slip gives a working service. A switch that is none, an address of the wrong form and a weak secret refuse to start.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, ValidationInfo, field_validator
from pydantic import ValidatorFunctionWrapHandler as Check

from app.settings_fields import mark

_OUR_NAMES = ("CHAT_", "MODEL_BUDGET_", "TURNKEEP_")


class RefusedSettings(Exception):
    """The process must not start with this environment. One line for each reason; no value is among them."""


class ReadSettings(BaseModel):
    """What a set of settings has by itself: its names, its notes, and a way to be read."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())

    _notes: tuple[str, ...] = PrivateAttr(())

    def model_post_init(self, context: Any) -> None:
        self._notes = tuple(context["notes"]) if context else ()

    @field_validator("*", mode="wrap")
    @classmethod
    def _fall_to_default(cls, value: object, check: Check, info: ValidationInfo) -> object:
        try:
            return check(value)
        except ValidationError:
            setting = cls.model_fields[info.field_name or ""]
            if not mark(setting, "lenient"):
                raise
            note = f"{setting.validation_alias} is out of range and counts as unset"
            (info.context or {"notes": []})["notes"].append(note)
            return setting.default

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Make settings of an environment.

        Raises:
            RefusedSettings: where a value must not be guessed.
        """
        notes = _misspelt(environment, cls.names())
        try:
            return cls.model_validate(dict(environment), context={"notes": notes})
        except ValidationError as error:
            # Written by hand: pydantic's own message quotes the value, which may be a secret.
            raise RefusedSettings("\n".join(_reason(one["loc"], one["msg"]) for one in error.errors())) from None

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The variables that are read, in the order of the table."""
        return tuple(str(one.validation_alias) for one in cls.model_fields.values() if one.validation_alias)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was put right while reading, to be logged as warnings."""
        return self._notes


def _misspelt(environment: Mapping[str, str], known: tuple[str, ...]) -> list[str]:
    """A switch under a wrong name would silently stay as it was: say which name was probably meant."""
    strangers = sorted(name for name in environment if name.startswith(_OUR_NAMES) and name not in known)
    meant = ((name, get_close_matches(name, known, n=1, cutoff=0.8)) for name in strangers)
    return [f"{name} is not a setting; {matches[0]} is" for name, matches in meant if matches]


def _reason(location: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(str(piece) for piece in location)}: {message.removeprefix('Value error, ')}"
