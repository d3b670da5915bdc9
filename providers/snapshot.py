"""Prices as the `genai-prices` package has them, from the snapshot inside it: nothing is asked of a network.

The package is younger than some models and older than others: a model that it does not know has no price here. Long prompts,
caches and fast modes are priced as it says.
"""

from math import ceil

from genai_prices import Usage as Tokens
from genai_prices import calc_price

from protocol.model import Usage
from providers.capabilities import own_name
from providers.prices import Price

_PROVIDER = "anthropic"
_MILLION = 1_000_000


def snapshot_price(model: str, fast: bool) -> Price | None:
    """The price of Anthropic's models, whatever the gateway: it is their price list that budgets are made for."""
    name, context = own_name(model), {"speed": "fast"} if fast else None

    def price(usage: Usage) -> int:
        # The package counts what comes from a cache and goes into it as input, too.
        tokens = Tokens(
            input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )
        known = calc_price(tokens, name, provider_id=_PROVIDER, price_context=context)
        return ceil(known.total_price * _MILLION)

    try:
        price(Usage())
    except LookupError:
        return None
    return price
