"""Asking a turn's model: whom, when, and with what. One call at a time, which speaks through the mailbox."""

from dataclasses import dataclass

from assistants.definition import Assistant
from engine.prompt import without_thoughts
from engine.values import Turn
from protocol.model import ModelRequest
from runner.meter import Meter
from runner.parts import Chosen, Parts
from runner.work import Work, call_model


@dataclass(slots=True, kw_only=True)
class Asking:
    """The models of one turn, in the order in which they are asked. `waiting`: the next call has not begun yet."""

    parts: Parts
    work: Work
    meter: Meter
    assistant: Assistant
    chain: tuple[Chosen, ...]
    waiting: bool = False

    def start(self, now: Turn) -> None:
        """Ask the model whose turn it is, as soon as the state allows."""
        if self.chain:
            self.work.ask(self._ask(now))

    async def _ask(self, now: Turn) -> None:
        left_ms = now.state.trying.not_before_ms - self.parts.clock.now_ms()
        if left_ms > 0:
            self.waiting = True
            await self.parts.pause(left_ms / 1000)
            self.waiting = False
        chosen = self.chain[min(now.state.fallback, len(self.chain) - 1)]
        asked = request(self.assistant, chosen.model, now)
        await call_model(self.work, self.meter.stream(chosen.provider, asked, now.state.step))


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
        served_tools=assistant.served_tools,
        container=state.container,
    )
