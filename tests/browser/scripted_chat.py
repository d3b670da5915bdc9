"""A chat server whose every frame, cut and refusal the test decides. It speaks the wire and runs nothing.

It serves the real page with the real headers, and one run at a time from a list of frames. What is not asked for goes on by
itself, so a test says only what it disturbs.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers

from api.pages import Pages
from protocol.errors import TurnkeepError
from tests.client_cases import Frame, encode
from tests.loopback import Answer, Asked, Cut, whole

ASSISTANT = {
    "name": "demo",
    "title": "Turnkeep demo",
    "model": "demo",
    "starters": ["What is a slice?", "Count slowly to 20.", "What is 6*7?", "How does a turn survive a crash?"],
}


class ScriptedChat:
    """Plays `frames` to whoever asks or comes back."""

    def __init__(self, pages: Pages, frames: list[Frame]) -> None:
        self._pages = pages
        self.frames = frames
        self.assistants: list[dict[str, Any]] = [ASSISTANT]  # who may be asked, the default first
        self.hold: int | None = None  # before this index everything waits for `release`
        self.cuts: list[int] = []  # before these indices the connection ends, once each
        self.gaps: dict[int, int] = {}  # at this index a connection jumps to that one, once each
        self.refusals: list[tuple[int, dict[str, Any]]] = []  # the next streams are refused with these, in order
        self.stored: list[dict[str, Any]] = []  # the conversation's messages, newest first
        self.title = ""  # the conversation's
        self.handle = "run.h1"
        self.transport = "workflow"
        self.asked: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.inputs: list[dict[str, Any]] = []
        self.files: list[bytes] = []
        self.deaf = 0  # the status that inputs are refused with
        self.awaited = 1  # inputs until what was held goes on
        self._go_on = asyncio.Event()

    def release(self) -> None:
        """Let everything that was held go on."""
        self.hold = None
        self._go_on.set()

    def hold_again(self, frames: list[Frame], index: int) -> None:
        """Play these to the next one who asks, up to this index."""
        self.frames, self.hold = frames, index
        self._go_on.clear()

    async def respond(self, asked: Asked) -> Answer:
        path = asked.target.partition("?")[0]
        if not path.startswith("/api/"):
            return self._page(path)
        self.asked.append(asked.line)
        match path.split("/")[2:]:
            case ["assistant"]:
                return _json({**self.assistants[0], "assistants": self.assistants})
            case ["chat"]:
                self.bodies.append(json.loads(asked.body))
                return self._stream(0)
            case ["chat", _, "stream"]:
                return self._stream(int(asked.target.partition("startIndex=")[2] or 0))
            case ["chat", _, "stop" | "input" as verb]:
                return self._stop() if verb == "stop" else self._input(json.loads(asked.body))
            case names:
                return self._other(names, asked)

    def _other(self, names: list[str], asked: Asked) -> Answer:
        match names:
            case ["files"]:
                return self._file(asked.target.partition("name=")[2], asked.body)
            case ["files", _]:
                return Answer(headers={"content-type": "image/png"}, pieces=whole(self.files[0]))
            case ["runs", _]:
                return _json({"transport": self.transport})
            case ["conversations", _, *_]:  # itself or its messages: a client reads only what it asked for
                return _json({"title": self.title, "messages": self.stored})
            case _:
                return _json(
                    {"error": {"kind": "not_found", "message": "Nothing is here.", "retryable": False}}, status=404
                )

    def _page(self, path: str) -> Answer:
        try:
            response = self._pages.answer(path[1:], Headers())
        except TurnkeepError:
            return Answer(status=HTTPStatus.NOT_FOUND, pieces=whole(b""))
        headers = {name: value for name, value in response.headers.items() if name != "content-length"}
        return Answer(headers=headers, pieces=whole(bytes(response.body)))

    def _stream(self, start: int) -> Answer:
        if self.refusals:
            status, error = self.refusals.pop(0)
            return _json({"error": error}, status=status)
        named = {"x-workflow-run-id": self.handle, "x-chat-run-id": self.bodies[-1]["run_id"]}
        headers = {"content-type": "text/event-stream", **named}
        return Answer(headers=headers, pieces=self._frames(start))

    async def _frames(self, start: int) -> AsyncGenerator[bytes]:
        yield b": open\n\n"
        index = start
        while index < len(self.frames):
            if index == self.hold:
                await self._go_on.wait()
            if index in self.cuts:
                self.cuts.remove(index)
                raise Cut
            index = self.gaps.pop(index, index)
            yield encode(index, self.frames[index])
            index += 1
        yield b"data: [DONE]\n\n"

    def _input(self, said: dict[str, Any]) -> Answer:
        self.inputs.append(said)
        if self.deaf:
            return _json({}, status=self.deaf)
        if len(self.inputs) >= self.awaited:
            self.release()
        return _json({"success": True})

    def _file(self, name: str, content: bytes) -> Answer:
        if content.startswith(b"MZ"):
            error = {"kind": "invalid", "message": "A file is an image, a PDF or text.", "retryable": False}
            return _json({"error": error}, status=HTTPStatus.BAD_REQUEST)
        self.files.append(content)
        media_type = "image/png" if content.startswith(b"\x89PNG") else "text/plain"
        url = f"/api/files/file_{len(self.files)}"
        part = {"type": "file", "mediaType": media_type, "filename": name, "url": url}
        return _json({**part, "id": url, "size": len(content)}, status=HTTPStatus.CREATED)

    def _stop(self) -> Answer:
        """Everything from the held frame on becomes the end of a stopped turn."""
        shown = self.frames[: self.hold]
        self.frames = [*shown, *ending_after(shown)]
        self.release()
        return _json({"success": True})


def ending_after(frames: list[Frame]) -> list[Frame]:
    """What a stop appends: open parts closed, and the end."""
    starts = {frame["id"]: frame["type"] for frame in frames if frame["type"] in ("text-start", "reasoning-start")}
    ends = {frame["id"] for frame in frames if frame["type"] in ("text-end", "reasoning-end")}
    closing = [{"type": kind.replace("start", "end"), "id": part} for part, kind in starts.items() if part not in ends]
    answered = {frame["toolCallId"] for frame in frames if frame["type"].startswith("tool-output")}
    waiting = [frame["toolCallId"] for frame in frames if frame["type"] == "tool-input-start"]
    text = "Not run: the turn ended before."
    errors = [
        {"type": "tool-output-error", "toolCallId": call, "errorText": text, "dynamic": True}
        for call in waiting
        if call not in answered
    ]
    abort = {"type": "abort", "reason": "stopped"}
    return [*closing, *errors, {"type": "finish-step"}, abort, {"type": "finish", "finishReason": "other"}]


def _json(value: Any, status: int = HTTPStatus.OK) -> Answer:
    body = json.dumps(value).encode()
    return Answer(status=status, headers={"content-type": "application/json"}, pieces=whole(body))
