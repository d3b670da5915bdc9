"""The type of a JSON value, and of a JSON object."""

from pydantic import JsonValue

Json = JsonValue
JsonObject = dict[str, JsonValue]
