"""Claude by the official SDK: one streamed call of the Messages API, at Anthropic's address or at any compatible gateway.

The SDK neither retries here nor puts the message together: retries are decided above, and its accumulator reads a tool's
JSON anew with every delta and raises on what it cannot read. A call has finished with `message_stop` and a stop reason; a
stream that ends in any other way is an error (M1). Time: every event must come within `idle_seconds` of the one before and
the whole within `call_seconds`. Pings do not count as events: a proxy sends them for a model that is stuck.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress

import httpx2
from anthropic import AnthropicError, APIStatusError, APITimeoutError, AsyncAnthropic
from anthropic.types import RawMessageStreamEvent

from protocol.errors import ProviderError
from protocol.model import Metered, ModelRequest, ProviderEvent
from providers.assembly import Assembly
from providers.failures import failure, refusal
from providers.messages import request_body

BASE_URL = "https://api.anthropic.com"
CONNECT_SECONDS = 5.0  # an address that does not accept by then will not
DRAIN_SECONDS = 0.25  # for the end of the body after the message, so that its connection can be used again

log = logging.getLogger(__name__)


class AnthropicProvider:
    """Speaks to one address with one key. Close it with `aclose`."""

    name = "anthropic"

    def __init__(self, api_key: str, *, base_url: str = BASE_URL) -> None:
        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)  # all other waits are bounded by the request
        self._client = AsyncAnthropic(api_key=api_key, base_url=base_url, max_retries=0, timeout=timeout)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        assembly = Assembly()
        told = assembly.usage
        try:
            async with aclosing(self._events(request)) as events:
                async for event in events:
                    for shown in assembly.feed(event.model_dump(mode="json", exclude_unset=True, warnings=False)):
                        yield shown
                    if assembly.usage is not told:
                        told = assembly.usage
                        yield Metered(told)
        except (AnthropicError, httpx2.HTTPError, httpx2.StreamError, OSError, *_UNREADABLE) as error:
            # Not chained: a traceback would carry the provider's text into logs.
            raise _failed(error) from None
        stopped = assembly.finished()
        if stopped is None:
            raise failure("upstream")
        yield stopped

    async def _events(self, request: ModelRequest) -> AsyncGenerator[RawMessageStreamEvent, None]:
        """The events of the call, each in time. Raises TimeoutError, and whatever the SDK does."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + request.call_seconds
        async with asyncio.timeout_at(min(loop.time() + request.idle_seconds, deadline)):
            stream = await self._client.messages.create(stream=True, **request_body(request))
        async with stream:  # leaving it, by whatever way, closes the request (M3)
            events = aiter(stream)
            while True:
                async with asyncio.timeout_at(min(loop.time() + request.idle_seconds, deadline)):
                    event = await anext(events, None)
                if event is None:
                    return
                yield event
                if event.type == "message_stop":
                    with suppress(TimeoutError):
                        async with asyncio.timeout(DRAIN_SECONDS):
                            await anext(events, None)
                    return


# What a stream raises that is not what it should be: from the SDK's own parsing and from `Assembly`.
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, AssertionError)


def _failed(error: Exception) -> ProviderError:
    if isinstance(error, APIStatusError):
        known = {"status": error.status_code, "type": error.type, "request_id": error.request_id}
        log.warning("model call refused", extra=known)
        return refusal(
            error.status_code,
            error_type=error.type,
            code=error.error_code,
            text=error.api_message,
            headers=error.response.headers,
        )
    log.warning("model call failed", extra={"error": type(error).__name__})
    return failure(
        "timeout" if isinstance(error, TimeoutError | APITimeoutError | httpx2.TimeoutException) else "upstream"
    )
