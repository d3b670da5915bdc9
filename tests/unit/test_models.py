"""Which addresses a deployment asks its models at."""

import sys
from typing import cast

import pytest

from app.models import reached
from app.settings import Settings
from providers.anthropic import AnthropicProvider, BedrockProvider
from providers.bedrock_runtime import BedrockRuntimeProvider
from providers.vertex import VertexProvider

KEY = "sk-" + "k" * 40
AMAZON = {
    "TURNKEEP_BEDROCK_REGION": "eu-west-1",
    "TURNKEEP_BEDROCK_ACCESS_KEY": "A",
    "TURNKEEP_BEDROCK_SECRET_KEY": KEY,
}
GOOGLE = {"TURNKEEP_VERTEX_PROJECT": "p", "TURNKEEP_VERTEX_REGION": "eu", "TURNKEEP_VERTEX_TOKEN": KEY}
CLOUDS = AMAZON | GOOGLE


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
    assert await names(**CLOUDS) == ["bedrock-runtime", "vertex"]
    assert await names(**CLOUDS | {"TURNKEEP_VERTEX_REGION": "", "TURNKEEP_BEDROCK_REGION": ""}) == []


async def test_a_cloud_without_credentials_is_not_asked_and_that_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """REQ-H5"""
    assert await names(**AMAZON | {"TURNKEEP_BEDROCK_SECRET_KEY": ""}) == []
    assert [record.getMessage() for record in caplog.records] == [
        "no model is asked at bedrock-runtime: There are no AWS credentials, or half a pair, or two kinds of them."
    ]


async def test_a_cloud_whose_package_is_not_installed_is_not_asked_and_that_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """REQ-H5"""
    for name in ("boto3", "google.auth"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("providers.bedrock_runtime", "providers.vertex"):
        monkeypatch.delitem(sys.modules, name)
    assert await names(**CLOUDS) == []
    told = [record.getMessage().partition(";")[0] for record in caplog.records]
    assert told == [
        "no model is asked at bedrock-runtime: import of boto3 halted",
        "no model is asked at vertex: import of google.auth halted",
    ]


async def test_only_anthropic_s_own_wire_is_asked_for_betas() -> None:
    """REQ-H7"""
    environment = {
        "TURNKEEP_BEDROCK_KEY": KEY,
        "TURNKEEP_BEDROCK_URL": "http://127.0.0.1:1",
        "ANTHROPIC_API_KEY": KEY,
        **CLOUDS,
    }
    async with reached(Settings.read(environment)) as (anthropic, others):
        made = cast("list[AnthropicProvider]", [anthropic, *others.values()])
        assert [(type(one), one.name, one.first_party) for one in made] == [
            (AnthropicProvider, "anthropic", True),
            (BedrockProvider, "bedrock", False),
            (BedrockRuntimeProvider, "bedrock-runtime", False),
            (VertexProvider, "vertex", False),
        ]
