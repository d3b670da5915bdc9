"""Claude by the official SDK: one streamed call of the Messages API, at Anthropic's address or at any compatible gateway.

The SDK neither retries here nor puts the message together: retries are decided above, and its accumulator reads a tool's
JSON anew with every delta and raises on what it cannot read. A call has finished with `message_stop` and a stop reason; a
stream that ends in any other way is an error (M1). Time: content must come within `idle_seconds` of what came before and the
whole within `call_seconds`. Pings and events we do not know are no content: a proxy sends them for a model that is stuck.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any

import httpx2
from anthropic import (
    AnthropicError,
    APIStatusError,
    APITimeoutError,
    AsyncAnthropic,
    AsyncAnthropicBedrockMantle,
    AsyncStream,
    DefaultAsyncHttpxClient,
)

from protocol.errors import ProviderError
from protocol.model import Metered, ModelRequest, ProviderEvent
from providers.assembly import Assembly
from providers.failures import failure, is_bound, refusal, spent
from providers.history import without_thoughts
from providers.messages import request_body

BASE_URL = "https://api.anthropic.com"
CONNECT_SECONDS = 5.0  # an address that does not accept by then will not
DRAIN_SECONDS = 0.25  # for the end of the body after the message, so that its connection can be used again

_CONTENT = {
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop",
}  # fmt: skip
_BUSY = (429, 529)
_TIMEOUT = httpx2.Timeout(None, connect=CONNECT_SECONDS)  # all other waits are bounded by the request

log = logging.getLogger(__name__)


class AnthropicProvider:
    """Speaks to one address with one key. Close it with `aclose`.

    `foreign` is what its client raises beside the SDK's own errors: what it borrows from others to frame and to sign.
    """

    name = "anthropic"
    first_party = True
    foreign: tuple[type[Exception], ...] = ()

    def __init__(self, api_key: str, *, base_url: str = BASE_URL) -> None:
        self._connect(AsyncAnthropic, api_key=api_key, base_url=base_url)

    def _connect(self, client: Callable[..., Any], **where: Any) -> None:
        # A redirect would take the key to an address that nobody gave it for.
        http = DefaultAsyncHttpxClient(follow_redirects=False, timeout=_TIMEOUT)
        self._client: Any = client(**where, max_retries=0, timeout=_TIMEOUT, http_client=http)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        assembly = Assembly()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + request.call_seconds
        told = assembly.usage
        try:
            async with aclosing(self._events(request, deadline)) as events:
                async for event in events:
                    for shown in assembly.feed(event.model_dump(mode="json", exclude_unset=True, warnings=False)):
                        yield shown
                    if assembly.usage is not told:
                        told = assembly.usage
                        yield Metered(told)
        except _RAISED + self.foreign as error:
            # Not chained: a traceback would carry the provider's text into logs.
            raise _failed(error, assembly, over=loop.time() >= deadline) from None
        stopped = assembly.finished()
        if stopped is None:
            raise failure("upstream", usage=assembly.used())
        if assembly.dropped or stopped.details:
            more = {"dropped_thoughts": assembly.dropped, "category": stopped.details.get("category", "")}
            log.info("model call told more", extra=more)
        yield stopped

    async def _events(self, request: ModelRequest, deadline: float) -> AsyncGenerator[Any, None]:
        """The events of the call, each in time. Raises TimeoutError, and whatever the SDK does."""
        now = asyncio.get_running_loop().time
        silent = now() + request.idle_seconds
        async with asyncio.timeout_at(min(silent, deadline)):
            stream = await self._open(request)
        async with stream:  # leaving it, by whatever way, closes the request (M3)
            events = aiter(stream)
            while True:
                async with asyncio.timeout_at(min(silent, deadline)):
                    event = await anext(events, None)
                if event is None:
                    return
                yield event
                if event.type in _CONTENT:
                    silent = now() + request.idle_seconds
                if event.type == "message_stop":
                    with suppress(TimeoutError):
                        async with asyncio.timeout(DRAIN_SECONDS):
                            await anext(events, None)
                    return

    async def _open(self, request: ModelRequest) -> AsyncStream[Any]:
        body = request_body(request, first_party=self.first_party)
        try:
            return await self._create(body)
        except APIStatusError as error:
            other = _other(replace(request, fast="speed" in body), error)
            if other is None:
                raise
        return await self._create(request_body(other, first_party=self.first_party))

    async def _create(self, body: dict[str, Any]) -> AsyncStream[Any]:
        interface = self._client.beta.messages if "betas" in body else self._client.messages
        create: Callable[..., Any] = interface.create
        stream: AsyncStream[Any] = await create(stream=True, **body)
        return stream


class BedrockProvider(AnthropicProvider):
    """The same models and the same wire on Amazon Bedrock, with a Bedrock API key. Its ids are `anthropic.claude-…`.

    This is Bedrock's endpoint for the Messages API. The older one is in `providers/bedrock_runtime.py`.
    """

    name = "bedrock"
    first_party = False

    def __init__(self, api_key: str, *, base_url: str) -> None:
        self._connect(AsyncAnthropicBedrockMantle, api_key=api_key, base_url=base_url)


# What a call raises: the SDK and the network; and, of a stream that is not what it should be, the SDK's parsing and `Assembly`.
_RAISED: tuple[type[Exception], ...] = (
    AnthropicError, httpx2.HTTPError, httpx2.StreamError, OSError,
    ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError,
)  # fmt: skip


def _other(request: ModelRequest, error: APIStatusError) -> ModelRequest | None:
    """What to ask instead, once: the same in another mode, where it is the mode that was refused."""
    if request.fast and error.status_code in _BUSY and not spent(error.error_code):
        return replace(request, fast=False)  # fast mode has a limit of its own: its end is not that of the model
    if is_bound(_told(error)):
        # The address does not know `drop_block`. Thoughts are lost rather than the conversation, for ever.
        return replace(request, messages=without_thoughts(request.messages))
    return None


def _told(error: APIStatusError) -> str:
    """What the answer says, which Amazon says outside of any `error`."""
    body = error.body
    return error.api_message or (str(body.get("message", "")) if isinstance(body, dict) else "")


def _failed(error: Exception, assembly: Assembly, *, over: bool) -> ProviderError:
    if isinstance(error, APIStatusError):
        known = {"status": error.status_code, "type": error.type, "request_id": error.request_id}
        log.warning("model call refused", extra=known)
        refused = refusal(
            error.status_code,
            error_type=error.type,
            code=error.error_code,
            text=_told(error),
            headers=error.response.headers,
        )
        refused.usage = assembly.used()
        return refused
    log.warning("model call failed", extra={"error": type(error).__name__})
    late = isinstance(error, TimeoutError | APITimeoutError | httpx2.TimeoutException)
    return failure("timeout" if late else "upstream", usage=assembly.used(), over=late and over)
