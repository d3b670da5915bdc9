"""The JSON of requests and answers, as /openapi.json shows it.

An answer may have more than is named here: the protocol grows by additions. A request's shape is what is certainly taken; the
chat body is more tolerant than its shape (PROTOCOL.md, [A7]).
"""

from collections.abc import Mapping
from typing import Any, Final, get_args

from protocol.errors import HTTP_STATUS
from protocol.turn import RunStatus

Shape = dict[str, Any]

ID: Final = "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"
_CALL: Final = "^[A-Za-z0-9_.:-]{1,128}$"
CURSOR: Final = "^[0-9]{1,15}-[0-9A-Za-z_-]{1,64}$"
DAY: Final[Shape] = {"type": "string", "pattern": "^[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$"}
# What names something has no character that no text has. In a body such a character is replaced first.
NAME: Final[Shape] = {
    "type": "string",
    "pattern": r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f]*$",
}
_TEXT: Final = r"^[ -~]*[!-~][ -~]*$"  # what is certainly a text: others are too, and some of them are not


def string(**limits: Any) -> Shape:
    """A string."""
    return {"type": "string", **limits}


def record(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None, **more: Any) -> Shape:
    """An object with these fields."""
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": [*required], **more}


def many(items: Shape, **limits: Any) -> Shape:
    """A list."""
    return {"type": "array", "items": items, **limits}


_ANY: Final[Shape] = {}
_COUNT: Final[Shape] = {"type": "integer", "minimum": 0}
_FLAG: Final[Shape] = {"type": "boolean"}
_MAYBE_ID: Final[Shape] = {"type": ["string", "null"]}

ERROR: Final[Shape] = record(
    {
        "error": record(
            {"kind": string(enum=sorted(HTTP_STATUS)), "message": string(), "retryable": _FLAG},
            {"code": string(), "handle": string(), "retry_after": string(pattern="^[0-9]+$")},
        )
    }
)

EVENT: Final[Shape] = record(
    {"data": string()}, {"event": string(), "id": string()}
)  # as a reader of the stream gets it

_QUESTION: Final = string(pattern=_TEXT, maxLength=4_000)
_MAYBE: Final[Shape] = {"type": ["string", "null"], "pattern": ID}
_HEAD: Final[Shape] = {"description": "The id of the answer that is taken for the last; what is no id is ignored."}
_CHAT_FIELDS: Final[Mapping[str, Shape]] = {
    "conversation_id": _MAYBE,
    "run_id": {"description": "A UUID; anything else is ignored."},
    "expected_head": _HEAD,
}
_SDK_FIELDS: Final[Mapping[str, Shape]] = {
    "id": _MAYBE,
    "trigger": {"description": "`regenerate-message`, or anything else."},
    "messageId": {
        "description": "The answer to give anew, or the earlier question to ask otherwise; what is no id is ignored."
    },
    "expected_head": _HEAD,
}
_USER_MESSAGE: Final[Shape] = record(
    {"parts": many(record({"type": string(const="text"), "text": _QUESTION}), minItems=1)},
    {"role": string(const="user")},
)
_ID_OF_CALL: Final = string(pattern=_CALL)
STATE: Final = string(enum=["unfinished", *get_args(RunStatus)])
_STOPPED: Final[Mapping[str, Shape]] = {"state": STATE, "tenant": string(), "after": string(pattern=CURSOR)}


def _said(kind: str, required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    fields = {"type": string(const=kind), **required}
    return record(fields, {"id": _ID_OF_CALL, **(optional or {})}, additionalProperties=False)


_CONVERSATION: Final[Shape] = record(
    {"id": string(), "title": string(), "active_run_id": _MAYBE_ID, "created_ms": _COUNT, "updated_ms": _COUNT}
)
_RUN: Final[Shape] = record(
    {
        "run_id": string(),
        "conversation_id": string(),
        "message_id": string(),
        "assistant": string(),
        "status": string(),
        "stored": _FLAG,
        "created_ms": _COUNT,
    },
    {"attempt": _COUNT, "frames": _COUNT, "calls": many(_ANY), "waiting": many(string())},
)

_ASSISTANT: Final[Mapping[str, Shape]] = {
    "name": string(),
    "title": string(),
    "starters": many(string()),
    "model": string(),
}

SHAPES: Final[Mapping[str, Shape]] = {
    "Chat": {
        "anyOf": [
            record({"message": _QUESTION}, _CHAT_FIELDS),
            record({"message": _USER_MESSAGE}, _SDK_FIELDS),
            record({"messages": many(_USER_MESSAGE, minItems=1)}, _SDK_FIELDS),
        ]
    },
    "Answer": record(
        {
            "run_id": string(),
            "conversation_id": string(),
            "message": record({"id": string(), "role": string(), "parts": many(_ANY)}),
            "reply": string(),
            "finish_reason": string(),
            "model": string(),
            "outcome": string(),
        }
    ),
    "Stopped": record({"success": _FLAG, "status": string(), "ended": _FLAG}),
    "Recorded": record({"success": _FLAG, "id": string()}),
    "Input": {
        "oneOf": [
            *(
                _said(kind, {"approvalId": _ID_OF_CALL}, {"reason": string(maxLength=4_000)})
                for kind in ("approve", "deny")
            ),
            _said("answer", {"toolCallId": _ID_OF_CALL, "text": _QUESTION}),
            _said("steer", {"text": _QUESTION}),
        ]
    },
    "Run": _RUN,
    "Output": _ANY,
    "NewConversation": record(
        {},
        {"id": _MAYBE, "title": string(maxLength=200)},
        additionalProperties=False,
    ),
    "Conversation": _CONVERSATION,
    "Conversations": record({"conversations": many(_CONVERSATION)}, {"next": string()}),
    "Title": record({"title": string(maxLength=200)}, additionalProperties=False),
    "Deleted": record({"success": _FLAG}),
    "File": record(
        {
            "type": string(const="file"),
            "mediaType": string(),
            "filename": string(),
            "url": string(),
            "id": string(),
            "size": _COUNT,
        }
    ),
    "Messages": record(
        {"messages": many(record({"id": string(), "sequence": _COUNT, "role": string(), "parts": many(_ANY)}))}
    ),
    "Assistant": record(_ASSISTANT, {"assistants": many(record(_ASSISTANT))}),
    "Health": record({"status": string()}),
    "Ready": record({"ready": _FLAG, "draining": _FLAG, "parts": record({})}),
    "Status": record({}),
    "Spend": record({"since": string(), "until": string(), "spend": many(_ANY), "today": _ANY}),
    "Switch": record(
        {
            "switch": {
                "oneOf": [
                    string(enum=["on", "off"]),
                    record({"percent": {"type": "integer", "minimum": 0, "maximum": 100}}, additionalProperties=False),
                ]
            }
        }
    ),
    "Runs": record({"runs": many(record({"run_id": string(), "status": string()})), "next": _MAYBE_ID}),
    "StopRuns": {
        "oneOf": [
            record({"run_ids": many(string(), maxItems=1_000)}, additionalProperties=False),
            record({"owner": string()}, _STOPPED, additionalProperties=False),
            record({"state": STATE}, {"tenant": string(), "after": string(pattern=CURSOR)}, additionalProperties=False),
        ]
    },
}
