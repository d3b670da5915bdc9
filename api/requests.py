"""What a request asks for besides its body: query parameters, cursor, the kind of answer.

Everything is parsed strictly and in one spelling. A cursor that is read leniently (as 0, say) replays or skips part of an
answer, and nobody notices until the text on the screen is wrong.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeVar, get_args
from urllib.parse import parse_qsl

from starlette.datastructures import Headers

from frames.projection import Sdk, Wire
from protocol.errors import TurnkeepError
from protocol.turn import RunStatus, Transport

Value = TypeVar("Value")

MOST_INDEX: Final = 10**15 - 1
SDK_HEADER: Final = "x-turnkeep-sdk"
_INDEX: Final = re.compile(r"0|-?[1-9][0-9]{0,14}", re.ASCII)
_PARAMETERS: Final = frozenset(
    {
        "startIndex",
        "runId",
        "stream",
        "wire",
        "sdk",
        "limit",
        "order",
        "mode",
        "state",
        "owner",
        "tenant",
        "after",
        "since",
        "until",
        "name",
    }
)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a reader wants to go on. `index` is the next frame it needs, or counts from the end where negative.

    `by_event_id` says that it came as `Last-Event-ID`: such a reader is told "nothing more" by 204, which makes an EventSource
    stop, where others get an error.
    """

    index: int
    by_event_id: bool = False


def parse_query(query_string: bytes) -> Mapping[str, str]:
    """The parameters we know, each at most once; others are ignored.

    Raises:
        TurnkeepError: `invalid`.
    """
    try:
        pairs = parse_qsl(query_string.decode("ascii"), keep_blank_values=True, max_num_fields=64)
    except ValueError:
        raise TurnkeepError("invalid", "The query is not well formed.") from None
    known = [(name, value) for name, value in pairs if name in _PARAMETERS]
    query = dict(known)
    if len(query) != len(known):
        raise TurnkeepError("invalid", "A query parameter is given twice.")
    return query


def parse_cursor(query: Mapping[str, str], headers: Headers) -> Cursor | None:
    """The cursor; `Last-Event-ID` beats `startIndex` (C19). None where neither is given."""
    index = _index("startIndex", query["startIndex"]) if "startIndex" in query else None
    seen = headers.getlist("last-event-id")
    if len(seen) > 1:
        raise TurnkeepError("invalid", "Last-Event-ID is given twice.")
    if seen:
        last = _index("Last-Event-ID", seen[0])
        if last < 0:
            raise TurnkeepError("invalid", "Last-Event-ID is an index of a frame.")
        return Cursor(last + 1, by_event_id=True)
    return None if index is None else Cursor(index)


def _index(name: str, text: str) -> int:
    if _INDEX.fullmatch(text) is None:
        raise TurnkeepError("invalid", f"{name} is a whole number in plain decimal digits.")
    return int(text)


def parse_sdk(query: Mapping[str, str], headers: Headers) -> Sdk | None:
    """The version of the AI SDK that the client parses with, where it says so.

    In a header too: its transports put ids behind the address they are given, which may have no query therefore.
    """
    versions: dict[str, Sdk] = {"5": 5, "6": 6, "7": 7}
    said = query.get("sdk", headers.get(SDK_HEADER))
    return None if said is None else _choice("sdk", said, versions)


def parse_wire(query: Mapping[str, str]) -> Wire:
    """Whether frames carry their event line."""
    wires: dict[str, Wire] = {"events": "events", "data": "data"}
    return _choice("wire", query.get("wire", "events"), wires)


def parse_smoke(query: Mapping[str, str]) -> Transport:
    """How a smoke turn is to run: sliced over workers, or inline."""
    modes: dict[str, Transport] = {"sliced": "workflow", "inline": "inline"}
    return _choice("mode", query.get("mode", "sliced"), modes)


def parse_limit(query: Mapping[str, str], default: int, most: int) -> int:
    """How many to list: 1 to `most`."""
    if "limit" not in query:
        return default
    limit = _index("limit", query["limit"])
    if not 1 <= limit <= most:
        raise TurnkeepError("invalid", f"limit is between 1 and {most}.")
    return limit


def parse_state(text: str) -> RunStatus | Literal["", "unfinished"]:
    """Which runs to list: those in one state, those that have not ended, or (empty) all."""
    states: dict[str, RunStatus | Literal["", "unfinished"]] = {"": "", "unfinished": "unfinished"}
    return _choice("state", text, states | {state: state for state in get_args(RunStatus)})


def parse_order(query: Mapping[str, str]) -> Literal["asc", "desc"]:
    """Oldest or newest first."""
    orders: dict[str, Literal["asc", "desc"]] = {"asc": "asc", "desc": "desc"}
    return _choice("order", query.get("order", "asc"), orders)


def wants_stream(query: Mapping[str, str], headers: Headers) -> bool:
    """Whether the turn is answered as a stream: as `?stream=` says, else as `Accept` admits."""
    if "stream" in query:
        return _choice("stream", query["stream"], {"0": False, "1": True})
    accepted = ",".join(headers.getlist("accept"))
    return not accepted.strip() or _admits_event_stream(accepted)


_SPECIFICITY: Final = {"*/*": 0, "text/*": 1, "text/event-stream": 2}


def _admits_event_stream(accept: str) -> bool:
    # The most specific range decides, so that "text/event-stream;q=0, */*" is a no.
    best = (-1, 0.0)
    for item in accept.split(","):
        media, *parameters = (piece.strip().lower() for piece in item.split(";"))
        if media in _SPECIFICITY:
            best = max(best, (_SPECIFICITY[media], _quality(parameters)))
    return best[1] > 0


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 1.0
    return 1.0


def _choice(name: str, text: str, values: Mapping[str, Value]) -> Value:
    if text not in values:
        raise TurnkeepError("invalid", f"{name} is one of {', '.join(values)}.")
    return values[text]
