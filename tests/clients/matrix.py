"""The matrix: which clients of others are driven, through which turns, and what each has to end with.

A row is a client in one version; a column is a turn. Every turn is cut three times on its way, in the middle of a frame each
time, and what the client ends with is the stored message. What differs, and may, is written here and nowhere else:

- The AI SDK's reducer notes an id on parts of thinking, and stops reading at an `error` frame: usage comes after it.
- assistant-stream has parts of its own shape: text, thinking, calls with their results, and sources.
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
REVISIONS = ("regenerate", "edit")  # what only the SDK's own clients have words for
STOP_AT = "four"
DECISIONS = {"approval": {"type": "approve"}, "denial": {"type": "deny", "reason": "Too much."}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One row. `replays`: it comes back by the conversation and gets everything again, so each cut has to lie further on."""

    name: str
    version: str
    drive: Drive
    sdk: Major = 7
    speaks: Literal["chat", "frames", "message", "content"] = "chat"
    workflow: str | None = None
    replays: bool = False

    @property
    def row(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def cuts(self) -> Sequence[int]:
        return (4, 6, 8) if self.replays else (7, 1, 2)

    @property
    def turns(self) -> Sequence[str]:
        # Revising needs the names of messages, which WorkflowChatTransport sends where its options tell it to.
        return (*TURNS, *REVISIONS) if self.speaks == "chat" else TURNS

    def conversation(self, turn: str) -> str:
        """Where it talks: an id belongs to one session, whoever took it first."""
        return re.sub(r"[^A-Za-z0-9]+", "-", f"{turn} {self.row}")

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
                return ended["messages"][-1]["parts"]
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
        return [{**part, "id": "r1"} if part["type"] == "reasoning" else part for part in stored[:until]]


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
            return {"type": "tool-call", **given, "result": part.get("output", part.get("errorText"))}
        case _:
            return None


CLIENTS = (
    Client(name="useChat (ai 6.0.326, @ai-sdk/react)", version="3.0.328", drive=NodeClient("chat.mjs", 6), sdk=6, replays=True),
    Client(name="useChat (ai 7.0.173, @ai-sdk/react)", version="4.0.177", drive=NodeClient("chat.mjs", 7), replays=True),
    Client(name="WorkflowChatTransport (@workflow/ai, ai 6)", version="5.0.0", drive=NodeClient("chat.mjs", 6), sdk=6, workflow="@workflow/ai"),
    Client(name="WorkflowChatTransport (@ai-sdk/workflow, ai 7)", version="2.0.43", drive=NodeClient("chat.mjs", 7), workflow="@ai-sdk/workflow/client"),
    Client(name="eventsource, Node 20", version="4.1.1", drive=NodeClient("eventsource.mjs", 6), speaks="frames"),
    Client(name="eventsource, Node 24", version="5.1.5", drive=NodeClient("eventsource.mjs", 7), speaks="frames"),
    Client(name="assistant-stream", version="0.3.57", drive=NodeClient("assistant_stream.mjs", 7), speaks="content"),
    Client(name="httpx-sse", version="0.4.3", drive=httpx_sse, speaks="frames"),
    Client(name="turnkeep-client", version="0.1", drive=turnkeep_client, speaks="message"),
)  # fmt: skip
