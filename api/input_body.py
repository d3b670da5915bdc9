"""What a person says to a run under way, in the two forms that clients send it.

Ours       {"type": "approve" | "deny" | "answer" | "steer", "approvalId" | "toolCallId", "reason"?, "text"?, "id"?}
AI SDK     the chat request of a continuation: the assistant's message comes last, and the parts of its last step say what
           was decided ("approval-responded") or answered ("output-available")

A call's id is the id of its approval. Without an id of its own a decision has that of its call, so that sending it twice, or
from two tabs, is deciding once.
"""

import re
from dataclasses import dataclass
from typing import Final, cast

from pydantic import ValidationError

from protocol.errors import TurnkeepError
from protocol.json import Json, JsonObject
from protocol.turn import TurnInput

INPUT_BYTES: Final = 32 * 1024  # of one input: escaped for a frame it stays below a frame's 256 KB
_FIELDS: Final = {
    "approve": {"approvalId", "toolCallId", "reason"},
    "deny": {"approvalId", "toolCallId", "reason"},
    "answer": {"toolCallId", "text"},
    "steer": {"text"},
}
_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}", re.ASCII)
_ANSWER: Final = re.compile(r"msg_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """What a continued chat request says: to which run, and what was decided or answered there."""

    run_id: str
    inputs: tuple[TurnInput, ...]


def parse_input(body: JsonObject, fresh_id: str, max_characters: int) -> TurnInput:
    """The input in a body. `fresh_id` is a steering message's where it has none.

    Raises:
        TurnkeepError: `invalid`, `too_large`.
    """
    kind = body.get("type")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise TurnkeepError("invalid", f"type is one of {', '.join(_FIELDS)}.")
    unknown = body.keys() - _FIELDS[kind] - {"id", "type"}
    if unknown:
        raise TurnkeepError("invalid", f"An input of this type has {', '.join(sorted(_FIELDS[kind]))}, and id.")
    target = "" if kind == "steer" else _target(body)
    text = _text(body.get("reason" if kind in ("approve", "deny") else "text"), max_characters)
    if not text and kind in ("answer", "steer"):
        raise TurnkeepError("invalid", "The text is empty.")
    given = _name(body["id"]) if body.get("id") is not None else None
    item_id = given or (_decision(target) if target else fresh_id)
    value = {"value": text} if kind == "answer" else {"text": text}
    return _bounded({"id": item_id, "type": kind, "target": target, **value})


def parse_continuation(body: JsonObject, max_characters: int) -> Continuation | None:
    """What a chat request continues; None where it asks something new. Raises TurnkeepError: `invalid`, `too_large`."""
    message = body.get("message")
    if message is None and isinstance(body.get("messages"), list):
        message = next(reversed(cast("list[Json]", body["messages"])), None)
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return None
    name = message.get("id")
    found = _ANSWER.fullmatch(name) if isinstance(name, str) else None
    inputs = [one for part in _last_step(message) if (one := _said(part, max_characters)) is not None]
    if found is None or not inputs:
        return None
    return Continuation(run_id="-".join(found.groups()), inputs=tuple(inputs))


def _last_step(message: JsonObject) -> list[JsonObject]:
    """The parts after the last step's beginning: what was answered before is known."""
    parts = message.get("parts")
    objects = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    starts = [at for at, part in enumerate(objects) if part.get("type") == "step-start"]
    return objects[starts[-1] + 1 if starts else 0 :]


def _said(part: JsonObject, max_characters: int) -> TurnInput | None:
    target, approval = part.get("toolCallId"), part.get("approval")
    if target is None:
        return None
    name = _name(target)
    match part.get("state"):
        case "approval-responded" if isinstance(approval, dict) and isinstance(approval.get("approved"), bool):
            kind = "approve" if approval["approved"] else "deny"
            text = _text(approval.get("reason"), max_characters)
            return _bounded({"id": _decision(name), "type": kind, "target": name, "text": text})
        case "output-available" if not isinstance(approval, dict):
            # Outputs that the server gave itself are among them: no such call waits, so nothing comes of those.
            value = part.get("output")
            return _bounded({"id": _decision(name), "type": "answer", "target": name, "value": value})
        case _:
            return None


def _bounded(value: dict[str, Json]) -> TurnInput:
    try:
        found = TurnInput.model_validate(value)
    except ValidationError:
        raise TurnkeepError("invalid", "The input is not well formed.") from None  # not chained: it would quote
    if len(found.model_dump_json().encode()) > INPUT_BYTES:
        raise TurnkeepError("too_large", f"An input may have at most {INPUT_BYTES} bytes.")
    return found


def _target(body: JsonObject) -> str:
    named = {_name(body[key]) for key in ("approvalId", "toolCallId") if body.get(key) is not None}
    if len(named) != 1:
        raise TurnkeepError("invalid", "An input names one approvalId or toolCallId.")
    return named.pop()


def _name(value: Json) -> str:
    if not isinstance(value, str) or _ID.fullmatch(value) is None:
        raise TurnkeepError("invalid", "An id is letters, digits and _ . : -, at most 128.")
    return value


def _text(value: Json, max_characters: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TurnkeepError("invalid", "The text is not text.")
    text = value.strip()
    if len(text) > max_characters:
        raise TurnkeepError("invalid", f"The text may have at most {max_characters} characters.")
    return text


def _decision(target: str) -> str:
    return f"decision:{target}"
