"""Where a reader may begin that asks for "the last N frames".

A delta whose part began earlier kills some clients, so the start moves back to an index at which no text, no thinking and
no tool call is open. At a `start-step` nothing is; from the last one before the wanted index the log is walked forward.
"""

from typing import Final, cast

from checkpoints.port import RunStore
from frames.sse import decode, split
from protocol.json import JsonObject

_CLOSING: Final = frozenset(
    {"text-end", "reasoning-end", "tool-output-available", "tool-output-error", "tool-output-denied"}
)
_ASKING: Final = frozenset({"tool-input-available", "tool-approval-request", "data-question"})

WINDOW: Final = 256  # frames looked at first; the window grows until it holds a start-step
PAGE_BYTES: Final = 256 * 1024


async def tail_start(store: RunStore, run_id: str, wanted: int) -> int:
    """The greatest index not above `wanted` at which nothing is open. Raises StoreUnavailable."""
    window = WINDOW
    while True:
        begin = max(0, wanted - window)
        first, frames = await _frames(store, run_id, begin, wanted)
        start = _last_closed(frames, first)
        if start is not None:
            return start
        if first > begin or begin == 0:  # nothing earlier is kept
            return first
        window *= 4


async def asked_end(store: RunStore, run_id: str, end: int, call_id: str) -> int:
    """The index after the frames that asked for this call, and for the others of its step; `end` where there are none.

    What follows there changes parts that are known and begins none: who has seen the asking can read on from here, whatever
    it has seen since. Raises StoreUnavailable.
    """
    step = call_id.partition(".")[0] + "."
    begin, window = end, WINDOW
    while begin > 0:
        begin = max(0, end - window)
        first, frames = await _frames(store, run_id, begin, end - 1)
        asking = [at for at, frame in enumerate(frames, first) if _asks(frame, step)]
        if asking or first > begin:
            return asking[-1] + 1 if asking else end
        window *= 4
    return end


def _asks(frame: JsonObject, step: str) -> bool:
    data = frame.get("data")
    call = data.get("toolCallId") if isinstance(data, dict) else frame.get("toolCallId")
    return frame["type"] in _ASKING and str(call).startswith(step)


async def _frames(store: RunStore, run_id: str, begin: int, until: int) -> tuple[int, list[JsonObject]]:
    """The frames from `begin`, or from the first one kept, up to and with `until`; and the index of the first."""
    found: list[JsonObject] = []
    first = index = begin
    while index <= until:
        page = await store.read(run_id, index, PAGE_BYTES)
        if page is None or not page.entries:
            break
        if not found:
            first = max(begin, page.first)
        pieces = (decode(piece) for entry in page.entries for piece in split(entry.payload))
        found += [cast("JsonObject", frame) for at, frame in pieces if max(first, index) <= at <= until]
        index = page.entries[-1].end
    return first, found


def _last_closed(frames: list[JsonObject], first: int) -> int | None:
    """The last index at which nothing is open; None where that cannot be told from these frames."""
    steps = [at for at, frame in enumerate(frames) if frame["type"] == "start-step"]
    known_from = steps[-1] if steps else 0 if first == 0 else None
    if known_from is None:
        return None
    still_open: set[str] = set()
    closed = known_from
    for at, frame in enumerate(frames[known_from:], known_from):
        if not still_open:
            closed = at
        kind = str(frame["type"])
        name = str(frame.get("toolCallId") or frame.get("id"))
        if kind in ("text-start", "reasoning-start", "tool-input-start", "tool-input-available"):
            still_open.add(name)
        elif kind in _CLOSING:
            still_open.discard(name)
        elif kind == "reset-step":
            still_open.clear()
    return first + closed
