"""Which addresses a deployment asks its models at."""

from typing import cast

import pytest

from app.models import reached
from app.settings import Settings
from providers.anthropic import AnthropicProvider
from providers.clouds import BedrockProvider, BedrockRuntimeProvider, VertexProvider

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
    assert await names(TURNKEEP_VERTEX_PROJECT="p", TURNKEEP_VERTEX_TOKEN=KEY) == []
    assert await names(TURNKEEP_VERTEX_PROJECT="p", TURNKEEP_VERTEX_REGION="eu", TURNKEEP_VERTEX_TOKEN=KEY) == ["vertex"]
    assert await names(TURNKEEP_BEDROCK_ACCESS_KEY="A", TURNKEEP_BEDROCK_SECRET_KEY=KEY) == []


async def test_a_cloud_without_credentials_is_not_asked_and_that_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """REQ-H5"""
    assert await names(TURNKEEP_BEDROCK_REGION="eu-west-1", TURNKEEP_BEDROCK_ACCESS_KEY="A") == []
    assert [record.getMessage() for record in caplog.records] == [
        "no model is asked at bedrock-runtime: There are no AWS credentials, or half of them, or more than one kind."
    ]


async def test_only_anthropic_s_own_wire_is_asked_for_betas() -> None:
    """REQ-H7"""
    environment = {
        "TURNKEEP_BEDROCK_KEY": KEY,
        "TURNKEEP_BEDROCK_URL": "http://127.0.0.1:1",
        "TURNKEEP_BEDROCK_REGION": "eu-west-1",
        "TURNKEEP_BEDROCK_ACCESS_KEY": "A",
        "TURNKEEP_BEDROCK_SECRET_KEY": KEY,
        "TURNKEEP_VERTEX_PROJECT": "p",
        "TURNKEEP_VERTEX_REGION": "global",
        "TURNKEEP_VERTEX_TOKEN": KEY,
        "ANTHROPIC_API_KEY": KEY,
    }
    async with reached(Settings.read(environment)) as (anthropic, others):
        made = cast("list[AnthropicProvider]", [anthropic, *others.values()])
        assert [(type(one), one.name, one.first_party) for one in made] == [
            (AnthropicProvider, "anthropic", True),
            (BedrockProvider, "bedrock", False),
            (BedrockRuntimeProvider, "bedrock-runtime", False),
            (VertexProvider, "vertex", False),
        ]
