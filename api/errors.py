"""Errors as a client gets them: one shape, one translation.

    {"error": {"kind": "conflict", "message": "…", "retryable": false, …details}}

The kind decides the HTTP status (protocol/errors.py). Two answers have a status of their own, because HTTP knows more there
than our kinds do: a method that an address does not take is `invalid` with 405, and a fault of ours that nobody
translated is `unavailable` with 500. The message is always ours; the text of an exception never leaves the process.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from protocol.errors import HTTP_STATUS, TurnkeepError
from protocol.json import Json

_RETRY_AFTER: Final = {429: "1", 503: "1"}  # seconds; a client that was turned away at a bound should not hammer it


def json_response(value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer that no cache keeps: everything under /api belongs to one person."""
    body = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, {"cache-control": "no-store", **(headers or {})}, "application/json")


def error_value(error: TurnkeepError) -> Json:
    """What stands under "error": in an HTTP body of an error, and in the one JSON body of a turn."""
    return {"kind": error.kind, "message": error.message, "retryable": error.retryable, **error.details}


def error_response(error: Exception, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to any exception that ended a request before its response began."""
    known, status, extra = _translate(error)
    retry = {"retry-after": known.details.get("retry_after", _RETRY_AFTER[status])} if status in _RETRY_AFTER else {}
    extra = {"www-authenticate": "Bearer", **extra} if status == HTTPStatus.UNAUTHORIZED else extra
    return json_response({"error": error_value(known)}, status, {**retry, **extra, **(headers or {})})


def _translate(error: Exception) -> tuple[TurnkeepError, int, Mapping[str, str]]:
    if isinstance(error, TurnkeepError) and error.kind == "not_found":
        return not_found(), HTTPStatus.NOT_FOUND, {}  # whoever raised it and whatever it says
    if isinstance(error, TurnkeepError):
        # A kind that belongs inside a stream has no status; reaching this is a fault of ours.
        return error, HTTP_STATUS.get(error.kind, 500), {}
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return TurnkeepError("invalid", "This address does not take this method."), 405, error.headers or {}
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.NOT_FOUND:
        return not_found(), 404, {}
    if isinstance(error, RequestValidationError | HTTPException):
        return TurnkeepError("invalid", "The request is not well formed."), 400, {}
    return TurnkeepError("unavailable", "Something went wrong on our side."), 500, {}


def not_found() -> TurnkeepError:
    """Foreign, unknown and deleted look the same, to the byte (LAW-P5)."""
    return TurnkeepError("not_found", "There is nothing here for you.")
