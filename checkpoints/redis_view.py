"""A run's meta hash as a view, and the note in it that says what a parked run waits for."""

import json
from collections.abc import Sequence

from checkpoints.port import Grip, Order, RunView
from checkpoints.waiting import Parking

VIEWED = (
    "state", "mode", "status", "attempt", "next", "stop", "deaths", "generation", "slice", "activity", "lease",
    "parked", "inputs",
)  # fmt: skip


def view_of(fields: Sequence[bytes | None], now_ms: int) -> RunView | None:
    """The view that these values of VIEWED give, at this time of the server's clock. None where the run is missing."""
    if fields[0] is None:
        return None
    state, mode, status = ((text or b"").decode() for text in fields[:3])
    attempt, following, stop, deaths, generation, slice_number, activity, lease = (
        int(number or 0) for number in fields[3:11]
    )
    parking = _parking(fields[11], attempt) if state == "running" else None
    return RunView(
        state="parked" if parking else state,
        mode=mode,
        status=status,
        attempt=attempt,
        next=following,
        stop=bool(stop),
        lease_ms=max(0, lease - now_ms),
        deaths=deaths,
        order=Order(generation, slice_number, activity),
        until_ms=parking.until_ms if parking else 0,
        waiting=parking.waiting if parking else (),
        unread=int(fields[12] or 0) - parking.taken if parking else 0,
    )


def note_of(grip: Grip, parking: Parking) -> str:
    """A JSON list. It begins with the attempt, which scripts look at."""
    return json.dumps([grip.attempt, parking.taken, parking.until_ms, *parking.waiting])


def _parking(note: bytes | None, attempt: int) -> Parking | None:
    """How the run is parked; a note of an earlier attempt is of a wait that is over."""
    by, taken, until_ms, *waiting = json.loads(note) if note else (0, 0, 0)
    return Parking(taken=taken, until_ms=until_ms, waiting=tuple(waiting)) if by == attempt else None
