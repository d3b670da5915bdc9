"""The matrix: which clients of others are driven, through which turns, and what each has to end with.

A row is a client in one version; a column is a turn. Every turn is cut three times on its way, in the middle of a frame each
time, and what the client ends with is the stored message. What differs, and may, is written here and nowhere else:

- The AI SDK's reducer notes an id on parts of thinking, and stops reading at an `error` frame: usage comes after it.
- Version 6 of it keeps what was withdrawn, marked, and has no frame for a decision that somebody else took.
- assistant-stream has parts of its own shape: text, thinking, calls with their results, and sources; what is withdrawn stays.
"""

import re
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from engine.fold import fold
from protocol.checkpoint import Message
from protocol.frames import Frame
from tests.clients.node import Major, NodeClient
from tests.clients.python_clients import httpx_sse, turnkeep_client
from tests.clients.turns import question

Drive = Callable[[list[dict[str, Any]]], Coroutine[Any, Any, list[dict[str, Any]]]]
Parts = list[dict[str, Any]]

TURNS = ("text", "thinking", "tools", "approval", "denial", "sources", "error", "stop")
WITHDRAWN = ("retry",)  # assistant-stream has no words for it
REVISIONS = ("regenerate", "edit")  # what only the SDK's own clients have words for
COLUMNS = (*TURNS, *WITHDRAWN, *REVISIONS)
STOP_AT = "four"
DECISIONS = {"approval": {"type": "approve"}, "denial": {"type": "deny", "reason": "Too much."}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One row.

    `packages`: those of others that it is made of. `replays`: it comes back by the conversation and gets everything again, so
    each cut has to lie further on.
    """

    name: str
    packages: Sequence[str]
    drive: Drive
    sdk: Major = 7
    speaks: Literal["chat", "frames", "message", "content"] = "chat"
    workflow: str | None = None
    replays: bool = False

    @property
    def cuts(self) -> Sequence[int]:
        return (4, 6, 8) if self.replays else (7, 1, 2)

    @property
    def turns(self) -> Sequence[str]:
        # Revising needs the names of messages, which WorkflowChatTransport sends where its options tell it to.
        if self.speaks == "chat":
            return COLUMNS
        return TURNS if self.speaks == "content" else (*TURNS, *WITHDRAWN)

    def conversation(self, turn: str) -> str:
        """Where it talks: an id belongs to one session, whoever took it first."""
        return re.sub(r"[^A-Za-z0-9]+", "-", f"{turn} {self.name}")

    def scenario(self, turn: str, *, api: str, cookie: str) -> dict[str, Any]:
        """What the client's script is told."""
        told = {"api": api, "cookie": cookie, "chatId": self.conversation(turn), "sdk": self.sdk}
        if self.speaks == "chat":
            # That transport stays on the line while a run waits, so the decision goes to the run by itself.
            steps = [_alone(turn)] if self.workflow and turn in DECISIONS else _steps(turn)
            return {**told, "steps": steps, **({"workflow": self.workflow} if self.workflow else {})}
        return {**told, **_alone(turn)}

    def shown(self, ended: dict[str, Any]) -> Any:
        """The answer that the client ended with."""
        match self.speaks:
            case "chat":
                return without_withdrawn(ended["messages"][-1]["parts"])
            case "message":
                return ended["message"]["parts"]
            case "content":
                return [part for one in ended["content"] if (part := _shown_content(one)) is not None]
            case "frames":
                message = Message(id="")
                for frame in cast("list[Frame]", ended["frames"]):
                    message = fold(message, frame)
                return [*message.parts]

    def expected(self, stored: Parts, turn: str) -> Any:
        """The stored answer as this client knows it."""
        if self.speaks == "content":
            return [part for one in stored if (part := _content(one)) is not None]
        if self.speaks != "chat":
            return stored
        until = -1 if turn == "error" else None
        return [self._noted(part) for part in stored[:until]]

    def _noted(self, part: dict[str, Any]) -> dict[str, Any]:
        """A stored part as the SDK's reducer has it."""
        if part["type"] == "reasoning":
            return {**part, "id": "r1"}
        if "approval" in part and self.workflow and self.sdk == 6:
            return {**part, "approval": {"id": part["approval"]["id"]}}
        return part


def without_withdrawn(parts: Parts) -> Parts:
    """A message as docs/clients.md tells clients of SDK 6 to show it."""
    resets = [at for at, part in enumerate(parts) if part["type"] == "data-reset"]
    if not resets:
        return parts
    step = max(at for at in range(resets[-1]) if parts[at]["type"] == "step-start")
    return [*without_withdrawn(parts[: step + 1]), *parts[resets[-1] + 1 :]]


def played(turn: str) -> str:
    """The scripted turn of a column."""
    return {"denial": "approval", "stop": "long", "regenerate": "text", "edit": "text"}.get(turn, turn)


def _alone(turn: str) -> dict[str, Any]:
    """A turn that is asked, and what is said to its run."""
    decide = {"decide": DECISIONS[turn]} if turn in DECISIONS else {}
    return {"do": "send", "text": question(played(turn)), **decide, **({"stopAt": STOP_AT} if turn == "stop" else {})}


def _steps(turn: str) -> list[dict[str, Any]]:
    ask: dict[str, Any] = {"do": "send", "text": question(played(turn))}
    short = {"do": "send", "text": question("short")}
    match turn:
        case "approval":
            return [ask, {"do": "approve", "approved": True}]
        case "denial":
            return [ask, {"do": "approve", "approved": False, "reason": "Too much."}]
        case "regenerate":
            return [ask, {"do": "regenerate", "of": 1}, {"do": "regenerate"}]
        case "edit":
            return [short, short, {**ask, "do": "edit", "of": 2}]
        case _:
            return [_alone(turn)]


def _shown_content(part: dict[str, Any]) -> dict[str, Any] | None:
    match part["type"]:
        case "text" | "reasoning":
            return {"type": part["type"], "text": part["text"]}
        case "tool-call":
            return {"type": "tool-call", **{name: part.get(name) for name in ("toolName", "args", "result")}}
        case _:
            return None


def _content(part: dict[str, Any]) -> dict[str, Any] | None:
    match part["type"]:
        case "text" | "reasoning":
            return {"type": part["type"], "text": part["text"]}
        case "dynamic-tool":
            given = {"toolName": part["toolName"], "args": part["input"]}
            denied = {"error": part["approval"]["reason"]} if part["state"] == "output-denied" else None
            return {"type": "tool-call", **given, "result": part.get("output", part.get("errorText", denied))}
        case _:
            return None


CLIENTS = (
    Client(name="useChat, SDK 6", packages=("ai", "@ai-sdk/react"), drive=NodeClient("chat.mjs", 6), sdk=6, replays=True),
    Client(name="useChat, SDK 7", packages=("ai", "@ai-sdk/react"), drive=NodeClient("chat.mjs", 7), replays=True),
    Client(name="WorkflowChatTransport, SDK 6", packages=("ai", "@workflow/ai"), drive=NodeClient("chat.mjs", 6), sdk=6, workflow="@workflow/ai"),
    Client(name="WorkflowChatTransport, SDK 7", packages=("ai", "@ai-sdk/workflow"), drive=NodeClient("chat.mjs", 7), workflow="@ai-sdk/workflow/client"),
    Client(name="EventSource, the machine's Node", packages=("eventsource",), drive=NodeClient("eventsource.mjs", 6), speaks="frames"),
    Client(name="EventSource, Node 24", packages=("eventsource",), drive=NodeClient("eventsource.mjs", 7), speaks="frames"),
    Client(name="assistant-ui", packages=("assistant-stream",), drive=NodeClient("assistant_stream.mjs", 7), speaks="content"),
    Client(name="httpx-sse", packages=("httpx-sse",), drive=httpx_sse, speaks="frames"),
    Client(name="turnkeep-client", packages=(), drive=turnkeep_client, speaks="message"),
)  # fmt: skip
