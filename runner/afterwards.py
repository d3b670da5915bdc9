"""What follows a completed answer: prompts to go on with, and the conversation's title (REQ-G6, DESIGN 4.6).

Neither holds up the end. Prompts that are there at once go into the log before it; those that take longer, and the title, are
stored when the run has ended. Both are a convenience: what fails or takes too long is left out.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from assistants.definition import Assistant
from engine.settle import suggesting
from engine.title import title_of
from engine.values import Advance
from protocol.checkpoint import Outcome, Seal, words_of
from protocol.turn import TurnRequest
from records.values import Place
from runner.parts import Parts

Found = TypeVar("Found")


class Afterwards:
    """The follow-up of one turn."""

    def __init__(self, parts: Parts, request: TurnRequest, assistant: Assistant) -> None:
        self._parts = parts
        self._request = request
        self._assistant = assistant
        self._prompts: asyncio.Task[tuple[str, ...]] | None = None

    async def before_the_end(self, advance: Advance) -> Advance:
        """The end with the prompts that need no waiting."""
        outcome, suggest = advance.turn.state.outcome, self._assistant.suggest
        self.cancel()
        if suggest is None or outcome is None or not _answered(outcome):
            return advance
        asked = suggest(self._request.text, words_of(advance.turn.state.message.parts))
        prompts = asyncio.get_running_loop().create_task(self._bounded(asked, ()))
        await asyncio.sleep(0)
        if not prompts.done():
            self._prompts = prompts
            return advance
        return suggesting(advance, prompts.result()) if prompts.result() else advance

    async def after_the_end(self, seal: Seal) -> None:
        """Store what took longer. Raises nothing."""
        records, request = self._parts.records, self._request
        try:
            if self._prompts is not None and (prompts := await self._prompts):
                await records.suggest(self._place, prompts)
            if request.sequence == 1 and _answered(seal.outcome):
                title = await self._title(words_of(seal.message.parts))
                await records.entitle(request.tenant, request.conversation_id, title)
        except Exception:  # noqa: BLE001 - the answer is stored, and nobody waits for this
            self._parts.observer.trouble(request.run_id, "what follows an answer could not be stored")

    def cancel(self) -> None:
        """Nobody wants the prompts any more."""
        if self._prompts is not None:
            self._prompts.cancel()
            self._prompts = None

    @property
    def _place(self) -> Place:
        request = self._request
        return Place(
            tenant=request.tenant, conversation_id=request.conversation_id, sequence=request.sequence + 1
        )  # the answer's is reserved with the question's (C18)

    async def _title(self, answer: str) -> str:
        plain = title_of(self._request.text)
        if self._assistant.entitle is None:
            return plain
        return title_of(await self._bounded(self._assistant.entitle(self._request.text, answer), plain)) or plain

    async def _bounded(self, finding: Awaitable[Found], otherwise: Found) -> Found:
        try:
            async with asyncio.timeout(self._parts.settings.collect_ms / 1000):
                return await finding
        except Exception:  # noqa: BLE001 - an assistant's own code: its turn has an answer, whatever this does
            self._parts.observer.trouble(self._request.run_id, "an assistant failed at what follows its answer")
            return otherwise


def _answered(outcome: Outcome) -> bool:
    return outcome.status == "completed" and not outcome.kind  # a hand-off is no answer
