"""What must hold of every turn, whatever was killed: asked of the product from outside, and of the outbox."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from engine.fold import fold
from engine.settle import NOT_RUN
from frames.sse import decode
from protocol.checkpoint import Message
from protocol.frames import Frame
from protocol.turn import ENDED
from providers.choose import SCRIPTED
from resp.keys import Keys
from tests.crash.composition import FALLBACKS, NEXT, OUTBOX
from tests.crash.turn import Turn

ENDS: Final = {
    "text": "completed", "tools": "completed", "steps": "failed", "stop": "completed", "long": "completed", "fallback": "completed",
}  # fmt: skip


async def violations(turn: Turn) -> list[str]:
    """All that does not hold of a turn that has ended, in words."""
    if turn.readers[0].memory:
        return []  # it was not struck, only kept waiting (see `cases`); what such a run promises is tested elsewhere
    if any(reader.gone for reader in turn.readers):
        return [f"P1: gone: {turn.readers[0].refused}"]
    status = (await turn.request("GET", f"/api/runs/{turn.run_id}"))["status"]
    messages = (await turn.request("GET", f"/api/conversations/{turn.conversation_id}/messages"))["messages"]
    frames = [decode(piece)[1] for piece in turn.readers[0].frames]
    stored = messages[-1] if messages else {}
    return [
        *(wrong for reader in turn.readers for wrong in reader.wrong),
        *_one_end(turn, frames, status, stored),
        *await _one_log(turn),
        *_transcript(turn, stored),
        *_rows(turn, messages),
        *_who_answered(turn, stored),
        *await _effects(turn, stored),
        *await _next_message(turn),
    ]


def _one_end(turn: Turn, frames: Sequence[Frame], status: str, stored: dict[str, Any]) -> list[str]:
    """P1: one terminal frame, last, and everybody tells the same end."""
    kinds = [frame["type"] for frame in frames]
    if kinds.count("finish") != 1 or kinds[-1] != "finish":
        return [f"P1: finish at {[at for at, kind in enumerate(kinds) if kind == 'finish']} of {len(kinds)}"]
    replies: list[Any] = [frame for frame in frames if frame["type"] == "data-reply"]
    told = [(reply["data"]["outcome"], reply["data"]["stored"]) for reply in replies]
    outcome = stored.get("outcome")
    if told != [(outcome, True)] or status != outcome or outcome not in _allowed(turn):
        return [f"P1: wanted {_allowed(turn)}; the log says {told}, the run {status}, the records {outcome}"]
    return []


def _allowed(turn: Turn) -> tuple[str, ...]:
    match turn.stopped:
        case None:
            return (ENDS[turn.case.turn],)
        case "stopping":
            return ("stopped",)
        case "ending":  # it was sealed by then, perhaps because of this very stop
            return ("stopped", "completed")
        case ended:
            return (ended,)


async def _one_log(turn: Turn) -> list[str]:
    """P2: whoever comes later sees what those saw who were there."""
    later = turn.reader()
    later.handle = turn.readers[0].handle
    await later.read()
    return [f"P2: a reader saw {_first_difference(reader.frames, later.frames)}"
            for reader in turn.readers if reader.frames != later.frames]  # fmt: skip


def _transcript(turn: Turn, stored: dict[str, Any]) -> list[str]:
    """P2: the fold of what a reader saw is the stored message."""
    wrong = []
    for reader in turn.readers:
        message = Message(id="")
        for piece in reader.frames:
            message = fold(message, decode(piece)[1])
        if list(message.parts) != stored.get("parts"):
            wrong.append(f"P2: shown {json.dumps(message.parts)}, stored {json.dumps(stored.get('parts'))}")
    return wrong


def _rows(turn: Turn, messages: Sequence[dict[str, Any]]) -> list[str]:
    plain = turn.run_id.replace("-", "")
    ids = [message["id"] for message in messages]
    return [] if ids == [f"usr_{plain}", f"msg_{plain}"] else [f"rows: {ids}"]


def _who_answered(turn: Turn, stored: dict[str, Any]) -> list[str]:
    """The fallback finishes what it began, and says so: nobody goes back to the model that failed."""
    name = FALLBACKS.get(turn.case.turn, turn.case.turn)
    model = stored.get("model")
    return [] if model == f"{SCRIPTED}{name}" else [f"P2: {model} is said to have answered"]


async def _effects(turn: Turn, stored: dict[str, Any]) -> list[str]:
    """P3: what happened outside is what the transcript and the ledger say, and nothing happened twice."""
    effects = outside(turn)
    entries = await turn.world.ask("HGETALL", Keys().ledger(turn.run_id))
    ledger = {key.decode(): json.loads(entry)["state"] for key, entry in entries.items()}
    wrong = []
    calls = {part["toolCallId"].removeprefix("c"): part for part in stored.get("parts", ()) if "toolCallId" in part}
    for key, count in effects.items():
        if key not in calls:
            wrong.append(f"P3: {key} happened and nobody was told")
        elif count > 1 and calls[key]["toolName"] == "send":
            wrong.append(f"P3: {key} happened {count} times")
    for key, part in calls.items():
        happened = effects[key] > 0
        if part["state"] == "output-available" and not (happened and ledger.get(key) in ("finished", "shown")):
            wrong.append(f"P3: {key} is told as done; outside {effects[key]}, ledger {ledger.get(key)}")
        if happened and (part.get("errorText") == NOT_RUN or ledger.get(key, "intended") == "intended"):
            wrong.append(f"P3: {key} happened; told {part.get('errorText')}, ledger {ledger.get(key)}")
    return wrong


async def after_loss(turn: Turn) -> list[str]:
    """All that does not hold of a turn whose store came back empty.

    Its executor may have put it back, or nobody could. It has ended, nothing happened twice, no reader saw anything but one
    beginning of one log, and whoever saw the end has what is stored.
    """
    if turn.readers[0].memory:
        return []
    status = (await turn.request("GET", f"/api/runs/{turn.run_id}"))["status"]
    messages = (await turn.request("GET", f"/api/conversations/{turn.conversation_id}/messages"))["messages"]
    shorter, longer = sorted((reader.frames for reader in turn.readers), key=len)
    return [
        *(wrong for reader in turn.readers for wrong in reader.wrong),
        *([] if longer[: len(shorter)] == shorter else [f"P2: a reader saw {_first_difference(shorter, longer)}"]),
        *([] if status in ENDED else [f"P1: the run is {status}"]),
        *(_transcript(turn, messages[-1]) if all(reader.ended for reader in turn.readers) else []),
        *repeated(turn),
        *await _next_message(turn),
    ]


def repeated(turn: Turn) -> list[str]:
    """P3 alone, of a run of which nothing is left: what must not be repeated was not."""
    return [f"P3: {key} happened {count} times" for key, count in outside(turn).items() if count > 1]


def outside(turn: Turn) -> Counter[str]:
    """How often each call of the turn had its effect."""
    path = turn.world.folder / OUTBOX
    lines = path.read_text().splitlines() if path.exists() else []
    keys = [json.loads(line)["key"] for line in lines if turn.run_id in line]
    return Counter(key.partition(":")[2] for key in keys)


async def _next_message(turn: Turn) -> list[str]:
    """P1: the conversation takes the next message."""
    reader = await turn.go_on(NEXT)
    if reader.memory:
        return []  # it was taken
    outcome = decode(reader.frames[-1])[1] if reader.ended else None
    return [] if outcome == {"type": "finish", "finishReason": "stop"} else [f"next: {outcome}"]


def _first_difference(seen: Sequence[bytes], later: Sequence[bytes]) -> str:
    for at, (one, other) in enumerate(zip(seen, later, strict=False)):
        if one != other:
            return f"{one!r} as frame {at}, and later it is {other!r}"
    return f"{len(seen)} frames, and later there are {len(later)}"
