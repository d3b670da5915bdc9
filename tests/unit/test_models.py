"""Which addresses a deployment asks its models at."""

from typing import cast

from app.models import reached
from app.settings import Settings
from providers.anthropic import AnthropicProvider, BedrockProvider

KEY = "sk-" + "k" * 40


async def names(**environment: str) -> list[str]:
    async with reached(Settings.read(environment)) as (anthropic, others):
        return [*(["anthropic"] if anthropic else []), *others]


async def test_an_address_needs_its_key_and_a_key_its_address() -> None:
    """REQ-H5"""
    assert await names() == []
    assert await names(ANTHROPIC_API_KEY=KEY) == ["anthropic"]
    assert await names(TURNKEEP_BEDROCK_KEY=KEY, TURNKEEP_GATEWAY_URL="http://127.0.0.1:1") == []
    assert await names(
        TURNKEEP_BEDROCK_KEY=KEY,
        TURNKEEP_BEDROCK_URL="http://127.0.0.1:1/anthropic",
        TURNKEEP_GATEWAY_KEY=KEY,
        TURNKEEP_GATEWAY_URL="http://127.0.0.1:1",
    ) == ["bedrock", "gateway"]


async def test_only_anthropic_s_own_wire_is_asked_for_betas() -> None:
    """REQ-H7"""
    environment = {"TURNKEEP_BEDROCK_KEY": KEY, "TURNKEEP_BEDROCK_URL": "http://127.0.0.1:1", "ANTHROPIC_API_KEY": KEY}
    async with reached(Settings.read(environment)) as (anthropic, others):
        made = cast("list[AnthropicProvider]", [anthropic, others["bedrock"]])
        assert [(type(one), one.name, one.first_party) for one in made] == [
            (AnthropicProvider, "anthropic", True),
            (BedrockProvider, "bedrock", False),
        ]
