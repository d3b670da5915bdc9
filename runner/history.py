"""What a fresh turn is told of those before it: read from the records, put right where it is broken, cut where it is long."""

import asyncio

from assistants.definition import Assistant
from engine.context import Cut, trimmed
from engine.history import Said, mended, reconstruct
from protocol.checkpoint import words_of
from protocol.errors import TurnkeepError
from protocol.json import JsonObject
from protocol.turn import TurnRequest, files_of
from records.values import HistoryMessage
from runner.hold import Hold
from runner.parts import Parts
from runner.patience import RETRY_SECONDS


async def history_of(parts: Parts, hold: Hold, request: TurnRequest, assistant: Assistant) -> Cut:
    """The messages that the turn begins with, its question last. Raises TurnkeepError."""
    limits = assistant.effective_limits
    stored = await _stored(parts, hold, request, limits.history_turns)
    said = mended([_said(message) for message in stored])
    await _write_back(parts, request, stored, said)
    # What a client says was said counts only where we know nothing; the route hands it on for first messages alone.
    known = said or [_claimed(entry) for entry in request.stateless_history]
    return trimmed(
        reconstruct(known, request.text, turns=limits.history_turns, files=request.files), limits.history_tokens
    )


async def _stored(parts: Parts, hold: Hold, request: TurnRequest, turns: int | None) -> tuple[HistoryMessage, ...]:
    """From the records, which may be away for a moment: that is no reason to try the whole turn again."""
    give_up = parts.clock.monotonic_ms() + parts.settings.records_patience_ms
    async with hold.kept():
        while True:
            try:
                return await parts.records.history(request.tenant, request.conversation_id, request.sequence, turns)
            except TurnkeepError:
                if parts.clock.monotonic_ms() >= give_up:
                    raise
            await asyncio.sleep(RETRY_SECONDS)


async def _write_back(
    parts: Parts, request: TurnRequest, stored: tuple[HistoryMessage, ...], said: tuple[Said, ...]
) -> None:
    """Store what was repaired, so that it is repaired once. Where that fails the next turn does it again."""
    news = {
        was.sequence: now.provider
        for was, now in zip(stored, said, strict=True)
        if was.role == "assistant" and now.provider is not was.provider
    }
    if not news:
        return
    parts.observer.trouble(request.run_id, "a stored history was not well formed and was repaired")
    try:
        await parts.records.repair(request.tenant, request.conversation_id, news)
    except TurnkeepError:
        parts.observer.trouble(request.run_id, "a repaired history could not be stored")


def _said(message: HistoryMessage) -> Said:
    return Said(message.role, words_of(message.parts), message.provider, files_of(message.parts))


def _claimed(entry: JsonObject) -> Said:
    return Said(str(entry["role"]), str(entry["content"]))
