"""What model calls cost, in millionths of a US dollar.

A price of so many dollars for a million tokens is so many millionths for one, so no unit is ever converted.

    rates that the deployment names     they win
    scripts, the demo model, the stub   nothing, and nothing is written down for them (REQ-Q7)
    what the snapshot knows             its price
    anything else                       fails closed: what a call costs that nobody knows the price of, no budget can bound
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from math import ceil

from protocol.errors import ProviderError
from protocol.model import ModelRequest, Usage
from providers.capabilities import capabilities
from providers.choose import is_free

Price = Callable[[Usage], int]
Snapshot = Callable[[str, bool], Price | None]  # of a model, and whether in its fast mode

NO_PRICE = "This model has no known price, so it cannot be asked within a budget."


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """A `Price`: millionths of a dollar for a token of each class."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal

    def __call__(self, usage: Usage) -> int:
        return ceil(
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """The prices of a deployment."""

    rates: Mapping[str, Rates] = field(default_factory=dict)  # by the model's id
    snapshot: Snapshot = field(default=lambda _model, _fast: None)

    def __call__(self, request: ModelRequest) -> Price | None:
        """The price of this call, None where it costs nothing. Raises ProviderError "not_configured" where nobody knows."""
        rates = self.rates.get(request.model)
        if rates is not None or is_free(request.model):
            return rates
        # Other clouds have no fast mode, and their ids begin with a vendor's name.
        known = request.model.startswith("claude-") and capabilities(request.model).fast != "no"
        price = self.snapshot(request.model, request.fast and known)
        if price is None:
            raise ProviderError("not_configured", NO_PRICE)
        return price


def parse_rates(text: str) -> dict[str, Rates]:
    """Read `model=input/output[/cache read/cache write]`, several separated by commas, in dollars for a million tokens.

    Without the last two, what the cache gives costs as much as input, and what it takes a quarter more. Raises ValueError.
    """
    pairs = (piece.strip().partition("=") for piece in text.split(",") if piece.strip())
    return {model.strip(): _rates(model.strip(), prices) for model, _, prices in pairs}


def _rates(model: str, text: str) -> Rates:
    try:
        prices = [Decimal(piece.strip()) for piece in text.split("/")]
    except InvalidOperation:
        raise ValueError(f"a price of {model} is no number") from None
    if not model or len(prices) not in (2, 4) or not all(price.is_finite() and price >= 0 for price in prices):
        raise ValueError("each is model=input/output or model=input/output/cache read/cache write")
    cached = prices[2:] or [prices[0], prices[0] * Decimal("1.25")]
    return Rates(input=prices[0], output=prices[1], cache_read=cached[0], cache_write=cached[1])
