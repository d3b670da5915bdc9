"""Turns that cost something: a price that is easy to count with, and a model whose calls a test ends as it likes."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from protocol.errors import ProviderError
from protocol.model import Metered, ModelRequest, ProviderEvent, Stopped, TextDelta, Usage
from providers.prices import Rates
from records.records import Records
from records.spend_values import SpendTotal
from records.values import Key, Span, StoredMessage
from runner.observe import Silent
from tests.rig import NOW_MS

DAY = NOW_MS // 86_400_000
MICRO = Rates(input=Decimal(1), output=Decimal(1), cache_read=Decimal(1), cache_write=Decimal(1))  # for any token
USED = Usage(input_tokens=30, output_tokens=5)

Decision = Literal["reserved", "over_budget", "unread"]


def price(_: ModelRequest) -> Rates:
    return MICRO


def doubled(request: ModelRequest) -> Rates:
    """Twice as much where it is asked for as fast."""
    return (
        Rates(input=Decimal(2), output=Decimal(2), cache_read=Decimal(2), cache_write=Decimal(2))
        if request.fast
        else MICRO
    )


@dataclass
class Told(Silent):
    """What was told of budgets and troubles."""

    decisions: list[Decision] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def budget(self, decision: Decision) -> None:
        self.decisions.append(decision)

    def trouble(self, run_id: str, what: str) -> None:
        self.troubles.append(what)


@dataclass
class Talker:
    """A model that says so many words and then ends as `end` says; `hang` lets it go on when it is set.

    It tells what it used first where `metered` is not None.
    """

    words: int = 3
    end: ProviderError | None = None
    metered: Usage | None = None
    used: Usage = USED
    fast: bool = False
    hang: asyncio.Event | None = None
    said: asyncio.Event = field(default_factory=asyncio.Event)
    name: str = "talker"
    asked: list[ModelRequest] = field(default_factory=list)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        self.asked.append(request)
        if self.metered is not None:
            yield Metered(self.metered)
        for _ in range(self.words):
            yield TextDelta("word")
        self.said.set()
        if self.hang is not None:
            await self.hang.wait()
        if self.end is not None:
            raise self.end
        content: Any = {"type": "text", "text": "word" * self.words}
        yield Stopped(reason="end_turn", content=(content,), usage=self.used, model="talker", fast=self.fast)


async def bill(records: Records) -> tuple[SpendTotal, ...]:
    """What the day's calls come to, seen to agree with the day's row."""
    sums = await records.spent(DAY, DAY + 1)
    assert sum(one.micro_usd for one in sums) == await records.used("chat", DAY)
    return sums


async def said(records: Records) -> tuple[StoredMessage, ...]:
    """The rig's conversation."""
    return await records.messages(Key(owner="ada", conversation_id="talk"), Span()) or ()
