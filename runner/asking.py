"""Asking a turn's model: whom, when, and with what. One call at a time, which speaks through the mailbox."""

from assistants.definition import Assistant
from engine.prompt import without_thoughts
from engine.values import Turn
from protocol.model import ModelRequest
from runner.parts import Chosen, Parts
from runner.work import Work, call_model


class Asking:
    """The models of one turn, in the order in which they are asked. `waiting`: the next call has not begun yet."""

    def __init__(self, parts: Parts, work: Work, assistant: Assistant, chain: tuple[Chosen, ...]) -> None:
        self.waiting = False
        self._parts = parts
        self._work = work
        self._assistant = assistant
        self._chain = chain

    def start(self, now: Turn) -> None:
        """Ask the model whose turn it is, as soon as the state allows."""
        if self._chain:
            self._work.start(self._ask(now))

    async def _ask(self, now: Turn) -> None:
        left_ms = now.state.trying.not_before_ms - self._parts.clock.now_ms()
        if left_ms > 0:
            self.waiting = True
            await self._parts.pause(left_ms / 1000)
            self.waiting = False
        chosen = self._chain[min(now.state.fallback, len(self._chain) - 1)]
        await call_model(self._work, chosen.provider, request(self._assistant, chosen.model, now))


def request(assistant: Assistant, model: str, now: Turn) -> ModelRequest:
    """What the model is asked: the same prefix in every slice, then the history (REQ-D6, REQ-G7)."""
    limits, state = assistant.effective_limits, now.state
    return ModelRequest(
        model=model,
        system=assistant.instructions,
        messages=(*without_thoughts(state.history[: state.foreign]), *state.history[state.foreign :]),
        history_start=state.history_start,
        tools=tuple(tool.schema for tool in assistant.tools),
        max_tokens=limits.max_tokens,
        idle_seconds=limits.idle_seconds,
        call_seconds=limits.call_seconds,
        thinking=assistant.thinking,
        fast=assistant.fast and not state.trying.tries,  # its own limits are the first to be reached
        attempt=state.trying.tries + state.trying.squeezed,
        compact_at=limits.compact_at,
    )
