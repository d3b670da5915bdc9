"""The body of a chat request, in every form that clients send.

Ours                      {"message": "…", "conversation_id"?, "run_id"?, "assistant"?, "on_busy"?: "refuse" | "interrupt",
                           "files"?: [file part, …], "context"?: {"history"?: […]}}
AI SDK                    {"id"?, "messages": […, {"id", "role": "user", "parts": […]}], "trigger"?, "messageId"?}
AI SDK, last message only {"id"?, "message": {"id", "role": "user", "parts": […]}, "trigger"?, "messageId"?}

`trigger` "regenerate-message" wants the answer `messageId`, else the last one, anew: to the stored question, with the files it has
there. Without it `messageId` names an earlier question, or its answer, and the message stands in the place of that question, with
the files that it brings itself. `expected_head` is the id of the answer that the client takes for the last.

Clients send many more fields; they are ignored (so `context.passages` grounds nothing). The server owns the history of a
conversation: of the SDK's messages only the last one counts.
"""

import re
from dataclasses import dataclass
from typing import Final, cast

from assistants.definition import NAME
from protocol.errors import TurnkeepError
from protocol.ids import CONVERSATION_ID, RUN_ID
from protocol.json import Json, JsonObject
from protocol.turn import files_of
from records.values import Revision

HISTORY_ENTRIES: Final = 100
KEY_CHARACTERS: Final = 255
_MESSAGE_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatBody:
    """A chat request. `history` is what the client says was said before: {"role", "content"}, for stateless use only."""

    text: str
    conversation_id: str | None
    run_id: str | None
    assistant: str | None
    files: tuple[JsonObject, ...]  # the parts that attach one, as the client sent them
    history: tuple[JsonObject, ...]
    interrupts: bool = False  # a run under way is stopped for this one
    by_sdk: bool = False  # in a form of the AI SDK's
    request_key: str | None = None  # the caller's own name for the request
    message_id: str | None = None  # the client's, where it is one that can be kept
    revision: Revision | None = None
    expected_head: str | None = None


def parse_chat(body: JsonObject, idempotency_key: str | None, max_characters: int) -> ChatBody:
    """The request in a body. The run id is the body's, else the idempotency key where that is a UUID; another key names it.

    Raises:
        TurnkeepError: `invalid`.
    """
    message = _user_message(body)
    text = message.text.strip()
    if not text:
        raise TurnkeepError("invalid", "The message is empty.")
    if len(text) > max_characters:
        raise TurnkeepError("invalid", f"The message may have at most {max_characters} characters.")
    run_id = _uuid(body.get("run_id")) or _uuid(idempotency_key)
    revision = _revision(body, message.by_sdk)
    asks_again = revision is not None and revision.kind == "regenerate"
    return ChatBody(
        text=text,
        conversation_id=_conversation_id(body, message.by_sdk),
        run_id=run_id,
        assistant=_name(body.get("assistant")),
        files=() if asks_again else message.files,  # the question is the one that is stored, with its files
        history=_history(body.get("context")),
        interrupts=_interrupts(body.get("on_busy")),
        by_sdk=message.by_sdk,
        request_key=None if run_id else _key(idempotency_key),
        message_id=_message_id(message.id),
        revision=revision,
        expected_head=_message_id(body.get("expected_head")),
    )


@dataclass(frozen=True, slots=True)
class _UserMessage:
    text: str
    files: tuple[JsonObject, ...] = ()
    by_sdk: bool = False
    id: Json = None


def _user_message(body: JsonObject) -> _UserMessage:
    message = body.get("message")
    if isinstance(message, str):
        return _UserMessage(message, _files(body.get("files")))
    if message is None and isinstance(body.get("messages"), list):
        messages = cast("list[Json]", body["messages"])
        message = messages[-1] if messages else None
    if not isinstance(message, dict):
        raise TurnkeepError("invalid", "The message is missing.")
    if message.get("role", "user") != "user":
        raise TurnkeepError("invalid", "The last message must be the user's.")
    return _from_parts(message)


def _from_parts(message: JsonObject) -> _UserMessage:
    parts = message.get("parts")
    if not isinstance(parts, list):  # older SDKs send the text as `content`
        return _UserMessage(_text(message.get("content")), by_sdk=True, id=message.get("id"))
    objects = [part for part in parts if isinstance(part, dict)]
    text = "\n".join(_text(part.get("text")) for part in objects if part.get("type") == "text")
    return _UserMessage(text, files_of(objects), by_sdk=True, id=message.get("id"))


def _files(value: Json) -> tuple[JsonObject, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise TurnkeepError("invalid", "files is a list of file parts.")
    return tuple(cast("list[JsonObject]", value))


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TurnkeepError("invalid", "The message has a text that is not text.")
    return value


def _conversation_id(body: JsonObject, by_sdk: bool) -> str | None:
    # "id" names the conversation in the SDK's forms only: in ours it is an unknown field.
    names = ("conversation_id", "thread_id", "id") if by_sdk else ("conversation_id", "thread_id")
    value = next((body[name] for name in names if body.get(name) is not None), None)
    if value is None:
        return None
    if not isinstance(value, str) or CONVERSATION_ID.fullmatch(value) is None:
        raise TurnkeepError("invalid", "A conversation id is letters, digits, _ and -, at most 128.")
    return value


def _uuid(value: Json) -> str | None:
    # Anything else is no error: a client's own id scheme must not stop its users, it only gives no idempotency.
    if isinstance(value, str) and RUN_ID.fullmatch(value.lower()) is not None:
        return value.lower()
    return None


def _key(header: str | None) -> str | None:
    if header is not None and not 0 < len(header) <= KEY_CHARACTERS:
        raise TurnkeepError("invalid", f"An idempotency key has 1 to {KEY_CHARACTERS} characters.")
    return header


def _message_id(value: Json) -> str | None:
    # As with run ids, another scheme is no error: such a message gets an id of ours.
    return value if isinstance(value, str) and _MESSAGE_ID.fullmatch(value) is not None else None


def _revision(body: JsonObject, by_sdk: bool) -> Revision | None:
    if not by_sdk:
        return None
    message_id = _message_id(body.get("messageId"))
    if body.get("trigger") == "regenerate-message":
        return Revision(kind="regenerate", message_id=message_id)
    return None if message_id is None else Revision(kind="edit", message_id=message_id)


def _interrupts(value: Json) -> bool:
    if value not in (None, "refuse", "interrupt"):
        raise TurnkeepError("invalid", "on_busy is refuse or interrupt.")
    return value == "interrupt"


def _name(value: Json) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or NAME.fullmatch(value) is None:
        raise TurnkeepError("invalid", "There is no such assistant.")
    return value


def _history(context: Json) -> tuple[JsonObject, ...]:
    entries = context.get("history") if isinstance(context, dict) else None
    if entries is None:
        return ()
    if not isinstance(entries, list) or len(entries) > HISTORY_ENTRIES:
        raise TurnkeepError("invalid", f"The history is a list of at most {HISTORY_ENTRIES} messages.")
    return tuple(_history_entry(entry) for entry in entries)


def _history_entry(entry: Json) -> JsonObject:
    role, content = (entry.get("role"), entry.get("content")) if isinstance(entry, dict) else (None, None)
    if role not in ("user", "assistant") or not isinstance(content, str) or not content.strip():
        raise TurnkeepError("invalid", "A message of the history has a role, user or assistant, and a text.")
    return {"role": role, "content": content}
