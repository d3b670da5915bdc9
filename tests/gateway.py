"""A model behind the wire of the Messages API, whose calls a test begins to see, lets go on, and sees left."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Self

from tests.loopback import Answer, Asked, Loopback


@dataclass(slots=True)
class ModelCall:
    """One call: it says a word, and one more every `gap` seconds until it may end. `left`: the caller closed it before that."""

    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)


class Gateway:
    """Serves while it is entered; `url` is its address."""

    def __init__(self, *, gap: float = 0.02) -> None:
        self._gap = gap
        self._loopback = Loopback(self._respond)
        self._calls: list[ModelCall] = []
        self._begun = asyncio.Condition()

    @property
    def url(self) -> str:
        return self._loopback.url

    @property
    def settings(self) -> dict[str, str]:
        """What a process needs to ask this model, as often as it likes."""
        return {
            "CHAT_MODEL": "claude-opus-4-8",
            "ANTHROPIC_API_KEY": "none",
            "TURNKEEP_ANTHROPIC_URL": self.url,
            "MODEL_BUDGET_DAILY_USD": "1000000",  # it costs what a real one does, and a day's default is soon used up
        }

    @property
    def made(self) -> int:
        """How many calls were made so far."""
        return len(self._calls)

    async def call(self, number: int) -> ModelCall:
        """The call of this number, counted from 1, once it was made."""
        async with self._begun:
            await self._begun.wait_for(lambda: len(self._calls) >= number)
        return self._calls[number - 1]

    async def __aenter__(self) -> Self:
        await self._loopback.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._loopback.__aexit__(*raised)

    async def _respond(self, _: Asked) -> Answer:
        call = ModelCall()
        async with self._begun:
            self._calls.append(call)
            self._begun.notify_all()
        return Answer(headers={"content-type": "text/event-stream"}, pieces=self._say(call))

    async def _say(self, call: ModelCall) -> AsyncGenerator[bytes]:
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "claude", "usage": usage}
        try:
            yield _event("message_start", message={**message, "stop_reason": None, "stop_sequence": None})
            yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
            word = _event("content_block_delta", index=0, delta={"type": "text_delta", "text": "word "})
            yield word
            while not call.may_end.is_set():
                await asyncio.sleep(self._gap)
                yield word
            yield _event("content_block_stop", index=0)
            delta = {"stop_reason": "end_turn", "stop_sequence": None}
            yield _event("message_delta", delta=delta, usage={"output_tokens": 2})
            yield _event("message_stop")
        finally:
            if not call.may_end.is_set():
                call.left.set()


def _event(kind: str, **content: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **content})}\n\n".encode()
