"""The port of a model: one streamed call.

Laws
 M1  `stream` yields events in order and ends with exactly one `Stopped`. A stream that ends in any other way raises.
 M2  Every failure is a `ProviderError` with a kind and a message of ours; nothing of the provider's text passes.
 M3  Cancelling the consumer closes the call: no request goes on behind it.
 M4  `Stopped.content` is what the next request sends back, block by block as the provider sent it.
 M5  Text is never split inside a character, whatever the network does.
 M6  Where the provider counts before the end, `Metered` tells so, each time with the whole so far.
"""

from collections.abc import AsyncIterator
from typing import Protocol

from protocol.model import ModelRequest, ProviderEvent


class Provider(Protocol):
    """A model behind the port."""

    @property
    def name(self) -> str:
        """The provider's name for metrics and logs."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """One model call. Raises ProviderError; does not try again what failed, unless in a mode with a limit of its own."""
        ...
