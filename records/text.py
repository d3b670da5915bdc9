"""The column types: what text a database takes, decided once for every column and for both databases.

PostgreSQL refuses U+0000 and lone surrogates in text, SQLite refuses lone surrogates. The rule of engine/text.py covers both:

- `Identifier` (ids, owners, tenants) refuses what that rule would change, with `invalid`: two owners must not become equal.
- `Label` (titles, names of models) is changed by it: a label that changed a little is better than a lost answer.
- `Document` is JSON as ASCII text, in which every Python string survives. (Two surrogates that spell a character come
  back as that character, here as in the frames: JSON cannot tell them apart.)

The rules hold for what is written and for what is looked up, because both pass through the column's type.
"""

import json
from typing import Any

from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

from engine.text import whole
from protocol.errors import TurnkeepError
from protocol.json import Json


class Identifier(TypeDecorator[str]):
    """Text that names something; text no database can hold names nothing."""

    impl: TypeEngine[Any] | type[TypeEngine[Any]] = Text
    cache_ok: bool | None = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is not None and whole(value) != value:
            raise TurnkeepError("invalid", "An id contains a character that no id has.")
        return value


class Label(TypeDecorator[str]):
    """Text for people."""

    impl: TypeEngine[Any] | type[TypeEngine[Any]] = Text
    cache_ok: bool | None = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else whole(value)


class Document(TypeDecorator[Json]):
    """A JSON value. Not the databases' own JSON types: jsonb refuses an escaped U+0000 and reorders keys."""

    impl: TypeEngine[Any] | type[TypeEngine[Any]] = Text
    cache_ok: bool | None = True

    def process_bind_param(self, value: Json | None, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Json | None:
        return None if value is None else json.loads(value)
