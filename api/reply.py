"""A run as one JSON body, for callers that do not stream.

    {"run_id", "conversation_id", "message", "reply", "finish_reason", "model", "outcome", "error"?, "handoff"?}

`message` is the folded AI SDK message and `reply` its text. A run that failed has `error` as well, and the status of its kind
where HTTP has one; where it has none (a cut-off answer, say) the status is 200, because there is text to show. Past its bound
it is `timeout`, with the handle in the headers: the run goes on and can be read.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, cast

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api.errors import error_response, json_response
from api.stream import FrameReader, while_connected
from engine.fold import fold
from frames.sse import decode, split
from frames.viewer import Aborted
from protocol.checkpoint import Message
from protocol.errors import HTTP_STATUS, TurnkeepError
from protocol.frames import Frame
from protocol.json import JsonObject

_WAIT_SECONDS: Final = 60.0  # of one wait for frames; the bound of the whole is the caller's


class WholeAnswer:
    """The response that reads a run to the end and then answers."""

    def __init__(
        self, reader: FrameReader, headers: Mapping[str, str], *, conversation_id: str, seconds: float
    ) -> None:
        self._reader = reader
        self._headers = headers
        self._conversation_id = conversation_id
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with while_connected(receive):
                response = await self._response()
                await response(scope, receive, send)
        finally:
            self._reader.close()

    async def _response(self) -> Response:
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._read()
        except TimeoutError:
            slow = TurnkeepError("timeout", "The answer takes longer than one response may: read it as a stream.")
            return error_response(slow, self._headers)
        except Aborted:
            return error_response(TurnkeepError("unavailable", "This process is stopping."), self._headers)
        except TurnkeepError as error:
            return error_response(error, self._headers)
        value = answer.value(self._headers["x-chat-run-id"], self._conversation_id)
        return json_response(value, answer.status, self._headers)

    async def _read(self) -> "_Answer":
        answer = _Answer()
        while not self._reader.ended:
            chunk = await self._reader.next(_WAIT_SECONDS)
            for piece in split(chunk or b""):
                answer.add(decode(piece)[1])
        return answer


class _Answer:
    """What the frames of a run come to."""

    def __init__(self) -> None:
        self._message = Message(id="")
        self._noted: dict[str, Any] = {}  # the newest frame of each type that says something about the whole

    def add(self, frame: Frame) -> None:
        self._message = fold(self._message, frame)
        if frame["type"] in ("data-reply", "data-error", "data-handoff", "finish"):
            self._noted[frame["type"]] = frame

    @property
    def status(self) -> int:
        error = self._noted.get("data-error", {"data": {}})["data"]
        return HTTP_STATUS.get(error.get("kind", ""), 200)

    def value(self, run_id: str, conversation_id: str) -> JsonObject:
        reply = self._noted.get("data-reply", {"data": {}})["data"]
        texts = [cast("str", part["text"]) for part in self._message.parts if part["type"] == "text"]
        value: JsonObject = {
            "run_id": run_id,
            "conversation_id": conversation_id,
            "message": self._message.model_dump(mode="json"),
            "reply": "".join(texts),
            "finish_reason": self._noted.get("finish", {}).get("finishReason", "other"),
            "model": reply.get("model", ""),
            "outcome": reply.get("outcome", ""),
        }
        ends = {"error": "data-error", "handoff": "data-handoff"}
        return value | {name: self._noted[kind]["data"] for name, kind in ends.items() if kind in self._noted}
