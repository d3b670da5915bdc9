"""What an executor's model calls cost: reserved before each of them, charged after it, whatever became of it (FR62, FR63).

Rules
 - What a call may cost at most is set aside before it: its whole request as text for the cache, and `max_tokens` of output.
   The day's budget is asked with it, in one transaction, so calls at the same time cannot all find the same room.
 - What it did cost is what the provider says, be it with a failure. Where it says nothing (a stop, a cut, a death) input and
   output are estimated from what was sent and received. Only a call that was refused before it gave anything is released.
 - A fast call costs what the provider says it was: one that was asked for as fast and served as any other is charged as such.
 - A model without a known price is not asked (fails closed). A ledger that does not answer lets the call pass and says so
   (fails open, REQ-V6): a database that is away must not stop a service whose every other part goes on, and its absence
   bounds the damage. The call is written down with its charge if the ledger is back by then.
 - A charge is written beside the turn, which does not wait for it before its end.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import cached_property
from itertools import count

from protocol.errors import ProviderError
from protocol.model import (
    Metered,
    ModelEvent,
    ModelRequest,
    ProviderEvent,
    Stopped,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    Usage,
)
from providers.port import Provider
from providers.prices import Price
from records.spend_values import CallKey, Charge, Reservation
from runner.attachments import weigh
from runner.hold import Hold
from runner.parts import Parts

TOKEN_BYTES = 2  # of UTF-8: no text we know has more tokens; English has about half as many


Attach = Callable[[ModelRequest], Awaitable[ModelRequest]]


async def without_files(request: ModelRequest) -> ModelRequest:
    """A turn that has no files to put into its requests."""
    return request


class OverBudget(Exception):
    """The day's budget has no room for what the call may cost. Nothing was asked."""


class Meter:
    """The model calls of one executor."""

    def __init__(self, parts: Parts, hold: Hold, attach: Attach = without_files) -> None:
        self._parts = parts
        self._hold = hold
        self._attach = attach
        self._numbers = count(1)
        self._writing: set[asyncio.Task[None]] = set()

    async def stream(self, provider: Provider, request: ModelRequest, step: int) -> AsyncIterator[ModelEvent]:
        """The events of one model call. Raises ProviderError, or OverBudget."""
        request = await self._attach(request)
        tally = _Tally(request, self._parts.price)
        reservation = None if tally.free else self._reservation(request.model, step, tally)
        try:
            if reservation is not None:
                await self._reserve(reservation)
            tally.begun = True
            async for event in provider.stream(request):
                tally.count(event)
                if not isinstance(event, Metered):
                    yield event
        except ProviderError as error:
            tally.failed(error)
            raise
        finally:
            if reservation is not None:
                self._write(reservation, tally.charge())

    async def settled(self) -> None:
        """Wait for what is being written, within a bound: what is not there by then counts as reserved."""
        if self._writing:
            await asyncio.wait(self._writing, timeout=self._parts.settings.ledger_ms / 1000)

    def _reservation(self, model: str, step: int, tally: "_Tally") -> Reservation:
        grip = self._hold.grip
        return Reservation(
            key=CallKey(run_id=grip.run_id, step=step, attempt=grip.attempt, number=next(self._numbers)),
            model=model,
            usage=tally.most,
            micro_usd=tally.price(tally.most),
            now_ms=self._parts.clock.now_ms(),
        )

    async def _reserve(self, reservation: Reservation) -> None:
        observer = self._parts.observer
        try:
            async with asyncio.timeout(self._parts.settings.ledger_ms / 1000):
                admission = await self._parts.records.reserve(reservation, self._parts.settings.budget_micro_usd)
        except Exception:  # noqa: BLE001 - whatever keeps the ledger from answering, the call passes
            observer.trouble(reservation.key.run_id, "the ledger does not answer, a model call was let through")
            observer.budget("unread")
            return
        if admission == "ended":
            raise ProviderError("conflict", "The run has ended.")
        observer.budget(admission)
        if admission == "over_budget":
            raise OverBudget

    def _write(self, reservation: Reservation, charge: Charge) -> None:
        # A task of its own: whatever cancels the call does not cancel what it cost.
        task = asyncio.get_running_loop().create_task(self._charge(reservation, charge))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _charge(self, reservation: Reservation, charge: Charge) -> None:
        try:
            await self._parts.records.charge(reservation, charge, self._parts.clock.now_ms())
        except Exception:  # noqa: BLE001 - whatever the ledger dies of, the turn goes on and the reservation counts
            self._parts.observer.trouble(reservation.key.run_id, "what a model call cost is not in the ledger")


class _Tally:
    """What a call was sent and what it has given. `most` is what it can use at most. Raises ProviderError without a price."""

    def __init__(self, request: ModelRequest, prices: Callable[[ModelRequest], Price | None]) -> None:
        self.begun = False
        self._request = request
        self._prices = prices
        self._price = prices(request)
        self._got = 0  # bytes
        self._told = Usage()
        self._final = False
        self._estimated = False
        self._refused = False

    @property
    def free(self) -> bool:
        return self._price is None

    def price(self, usage: Usage) -> int:
        return 0 if self._price is None else self._price(usage)

    @cached_property
    def asked(self) -> int:
        """The tokens of the request, at most. Only calls that cost something look: it takes as long as sending it."""
        request = self._request
        messages, tokens = weigh(request.messages)
        asked = [request.system, [tool.model_dump() for tool in request.tools], messages]
        return tokens + _tokens(len(json.dumps(asked, ensure_ascii=False).encode("utf-8", "surrogatepass")))

    @property
    def most(self) -> Usage:
        return Usage(cache_write_tokens=self.asked, output_tokens=self._request.max_tokens)

    def count(self, event: ProviderEvent) -> None:
        """An event came."""
        match event:
            case TextDelta(text=text) | ThinkingDelta(text=text) | ToolInputDelta(json=text):
                self._got += max(1, len(text.encode("utf-8", "surrogatepass")))
            case Metered(usage=usage):
                self._told = usage
            case Stopped(usage=usage, fast=fast):
                if self._request.fast and not fast:
                    self._price = self._prices(replace(self._request, fast=False))
                if usage.total:
                    self._told, self._final = usage, True
            case _:
                pass

    def failed(self, error: ProviderError) -> None:
        """The call failed. One that gave nothing at all was refused; but who does not answer may be at work all the same."""
        if error.usage.total > error.usage.output_tokens:  # else it counted nothing: what it streamed is no count
            self._estimated = self._told.total > 0 and self._told != error.usage
            self._told, self._final = error.usage, True
        self._refused = not self._got and not self._told.total and error.kind != "timeout"

    def charge(self) -> Charge:
        """What it costs."""
        if self._refused or not self.begun:
            return Charge(released=True)
        if self._final:
            return Charge(usage=self._told, micro_usd=self.price(self._told), estimated=self._estimated)
        usage = self._told if self._told.total else Usage(input_tokens=self.asked)
        output = max(usage.output_tokens, min(self._request.max_tokens, _tokens(self._got)))
        usage = usage.model_copy(update={"output_tokens": output})
        return Charge(usage=usage, micro_usd=self.price(usage), estimated=True)


def _tokens(size: int) -> int:
    return -(-size // TOKEN_BYTES)
