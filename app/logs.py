"""Logs of a process: one JSON object a line, or readable lines on a terminal.

Nothing that a person wrote and nothing that opens a door is logged. Our own lines carry ids and counts only. What others
raise may quote anything, so of an exception its type and places are kept and its words dropped; what looks like a handle, a
token or a key is blacked out wherever it stands.
"""

import logging
import re
import sys
import traceback
from types import TracebackType
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, WrappedLogger

from app.settings import Settings

# A handle or token of ours (payload, dot, signature), or a key of a provider.
_SECRET = re.compile(r"[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{43}|\bsk-[A-Za-z0-9-]{8,}")
# What uvicorn says when we leave a response incomplete on purpose, to make the client come back.
_ABORTED = "ASGI callable returned without completing response."
_CHATTY = ("alembic", "anthropic", "asyncio", "httpcore2", "httpx2", "sqlalchemy", "uvicorn")


def configure_logs(settings: Settings, role: str, stream: TextIO = sys.stderr) -> None:
    """Send everything that is logged in this process to `stream`. `role` is in each line."""

    def name_role(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        event["role"] = role
        return event

    pretty = settings.log_format == "pretty" or (settings.log_format == "auto" and stream.isatty())
    renderer: Any = (
        structlog.dev.ConsoleRenderer(colors=stream.isatty(), sort_keys=False)
        if pretty
        else structlog.processors.JSONRenderer()
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            name_role,
        ],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _places_only, _black_out, renderer],
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.addFilter(lambda record: record.msg != _ABORTED)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.log_level.upper())
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def _places_only(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Of an exception: its type and where it was. Its words may be a user's."""
    raised = event.pop("exc_info", None)
    kind, _value, trace = raised if isinstance(raised, tuple) else (None, None, None)
    if isinstance(kind, type):
        event["exception"] = kind.__qualname__
        event["where"] = _places(trace)
    return event


def _places(trace: TracebackType | None) -> list[str]:
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]


def _black_out(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return {name: _SECRET.sub("…", value) if isinstance(value, str) else value for name, value in event.items()}
