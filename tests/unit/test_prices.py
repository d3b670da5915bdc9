"""What a call costs: by the deployment's rates, by the snapshot, or not known."""

from dataclasses import replace
from decimal import Decimal

import pytest

from protocol.errors import ProviderError
from protocol.model import ModelRequest, Usage
from providers.prices import PriceList, Rates, parse_rates
from providers.snapshot import snapshot_price

USAGE = Usage(input_tokens=1_000, output_tokens=200, cache_read_tokens=300, cache_write_tokens=40)
REQUEST = ModelRequest(model="claude-opus-4-8", system="", messages=(), max_tokens=1, idle_seconds=1, call_seconds=1)
PRICES = PriceList(rates=parse_rates("claude-mine=3/15, scripted:count=1/2/0.1/1.25"), snapshot=snapshot_price)


def cost(model: str, *, fast: bool = False) -> int | None:
    price = PRICES(replace(REQUEST, model=model, fast=fast))
    return None if price is None else price(USAGE)


@pytest.mark.parametrize(
    ("model", "fast", "expected"),
    [
        ("claude-opus-4-8", False, 5_000 + 5_000 + 150 + 250),
        ("claude-opus-4-8", True, 2 * 10_400),
        ("claude-haiku-4-5", True, 1_000 + 1_000 + 30 + 50),  # it has no fast mode, so none is asked for or paid
        ("anthropic.claude-opus-4-8", True, 10_400),  # nor has Bedrock
        ("claude-mine", False, 3_000 + 3_000 + 900 + 150),
        ("scripted:count", False, 1_000 + 400 + 30 + 50),
        ("scripted:other", False, None),
        ("stub-chat-v1", False, None),
        ("demo", False, None),
    ],
)
def test_a_call_has_the_price_of_its_model(model: str, fast: bool, expected: int | None) -> None:
    """REQ-Q7: models are priced, in millionths of a dollar; what runs here is free."""
    assert cost(model, fast=fast) == expected


def test_long_prompts_cost_what_the_list_says_of_them() -> None:
    """FR62: the tier of a long prompt is part of what is reserved."""
    price = snapshot_price("claude-sonnet-4-5", False)
    assert price is not None

    assert (price(Usage(input_tokens=200_000)), price(Usage(cache_write_tokens=400_000))) == (600_000, 3_000_000)


def test_a_model_that_nobody_knows_has_no_price() -> None:
    """REQ-V6: it fails closed."""
    with pytest.raises(ProviderError) as raised:
        cost("claude-of-another-year")

    assert raised.value.kind == "not_configured"


def test_parts_of_a_millionth_are_rounded_up() -> None:
    rates = Rates(input=Decimal("0.1"), output=Decimal(0), cache_read=Decimal(0), cache_write=Decimal(0))

    assert [rates(Usage(input_tokens=tokens)) for tokens in (0, 1, 10, 30)] == [0, 1, 1, 3]


@pytest.mark.parametrize("text", ["m", "m=1", "m=1/x", "=1/2", "m=1/2/3", "m=-1/2", "m=nan/1"])
def test_prices_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"price|each"):
        parse_rates(text)
