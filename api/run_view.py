"""What is known of a run without its content, as JSON: for its owner, and for those who run the service."""

import re
from typing import Final

from checkpoints.port import RunView
from protocol.checkpoint import LedgerEntry
from protocol.errors import TurnkeepError
from protocol.json import Json, JsonObject
from records.values import Run

_CURSOR: Final = re.compile(r"([0-9]{1,15})-([0-9A-Za-z_-]{1,128})", re.ASCII)


def of_row(row: Run) -> JsonObject:
    """What the records know."""
    return {
        "run_id": row.run_id,
        "conversation_id": row.conversation_id,
        "message_id": row.message_id,
        "assistant": row.assistant,
        "status": row.status,
        "kind": row.kind,
        "transport": row.transport,
        "stored": row.ended_ms is not None,
        "created_ms": row.created_ms,
        "updated_ms": row.updated_ms,
        "ended_ms": row.ended_ms,
    }


def of_log(row: Run, view: RunView, ledger: dict[str, bytes]) -> JsonObject:
    """What records, log and ledger know."""
    # The log has the last word: a run has ended when its reader has seen so, not a moment before.
    states = {"ended": view.status, "open": "accepted", "parked": "parked"}
    parked: JsonObject = {"waiting": [*view.waiting], "waits_until_ms": view.until_ms} if view.waiting else {}
    return (
        of_row(row)
        | parked
        | {
            "status": states.get(view.state, "running"),
            "transport": view.mode,
            "attempt": view.attempt,
            "attempts_without_progress": view.deaths,
            "frames": view.next,
            "stop_requested": view.stop,
            "calls": calls(ledger),
        }
    )


def for_operators(row: Run) -> JsonObject:
    """What the records know, and whose run it is."""
    return of_row(row) | {"tenant": row.tenant, "owner": row.owner, "memory": row.memory}


def calls(ledger: dict[str, bytes]) -> list[Json]:
    """Every tool call by step and ordinal: `{"step", "ordinal", "tool", "state"}`.

    `state` is `intended`, `approved`, `started`, `finished`, or `unknown` where a call was started and nobody knows what came of it.
    """
    places = sorted((tuple(map(int, key.split("."))), entry) for key, entry in ledger.items())
    found = [(place, LedgerEntry.model_validate_json(entry)) for place, entry in places]
    return [
        {"step": step, "ordinal": ordinal, "tool": entry.tool, "state": _state(entry)}
        for (step, ordinal), entry in found
    ]


def _state(entry: LedgerEntry) -> str:
    if entry.result is not None and entry.result.unknown:
        return "unknown"
    return "finished" if entry.state == "shown" else entry.state


def cursor_of(row: Run) -> str:
    """Where a list goes on after this row."""
    return f"{row.created_ms}-{row.run_id}"


def parse_after(text: str) -> tuple[int, str]:
    """The place a cursor names. Raises TurnkeepError: `invalid`."""
    match = _CURSOR.fullmatch(text)
    if match is None:
        raise TurnkeepError("invalid", "after is the `next` of the page before.")
    return int(match[1]), match[2]
