"""Where the clouds' credentials come from when no setting holds them, and what is told when there are none."""

from pathlib import Path

import pytest

from protocol.errors import TurnkeepError
from providers.bedrock_runtime import BedrockRuntimeProvider
from providers.vertex import VertexProvider
from tests.contract.providers import outcome, request
from tests.fakes import anthropic_upstream as wire
from tests.fakes import clouds
from tests.fakes.anthropic_upstream import Reply
from tests.fakes.clouds import BedrockRuntimeUpstream, VertexUpstream
from tests.fakes.google_token import service_account, token_server

HELLO = wire.spoken(wire.text("Hello."))


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials of this machine, and no look at the address where a cloud's machines find theirs."""
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AWS_BEARER_TOKEN_BEDROCK",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("NO_GCE_CHECK", "true")


def refused(kind: type[VertexProvider | BedrockRuntimeProvider], *where: str, **who: str) -> str:
    with pytest.raises(TurnkeepError) as raised:
        kind(*where, **who)
    assert raised.value.kind == "not_configured"
    return raised.value.message


async def test_boto3_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the environment here; the signature is checked by the upstream."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", clouds.ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", clouds.SECRET_KEY)
    async with BedrockRuntimeUpstream() as upstream:
        upstream.replies.append(Reply([upstream.body(HELLO)]))
        provider = BedrockRuntimeProvider(clouds.REGION, base_url=upstream.url)
        _, error = await outcome(provider, request())
        await provider.aclose()
    assert error is None


def test_without_aws_credentials_or_with_half_of_them_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """REQ-H5"""
    none = "There are no AWS credentials, or half a pair, or two kinds of them."
    assert refused(BedrockRuntimeProvider, "eu-west-1") == none
    assert refused(BedrockRuntimeProvider, "eu-west-1", access_key="A") == none
    assert refused(BedrockRuntimeProvider, "eu-west-1", secret_key="s") == none
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "key")
    assert refused(BedrockRuntimeProvider, "eu-west-1", access_key="A", secret_key="s") == none
    BedrockRuntimeProvider("eu-west-1")
    monkeypatch.setenv("AWS_PROFILE", "none")
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK")
    assert refused(BedrockRuntimeProvider, "eu-west-1") == none


async def test_google_auth_finds_them_and_fetches_a_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Once, for as long as it lasts."""
    answer: dict[str, object] = {"access_token": clouds.TOKEN, "expires_in": 3600, "token_type": "Bearer"}
    async with token_server(200, answer) as (url, asked), VertexUpstream() as upstream:
        service_account(tmp_path / "account.json", url)
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
        upstream.replies += [Reply([upstream.body(HELLO)])] * 2
        provider = VertexProvider(clouds.PROJECT, clouds.REGION, base_url=f"{upstream.url}/v1")
        errors = [(await outcome(provider, request()))[1] for _ in range(2)]
        await provider.aclose()
    assert (errors, len(asked)) == ([None, None], 1)


async def test_a_token_that_cannot_be_had_is_a_failure_that_may_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """REQ-G2: the next of the chain is asked."""
    async with token_server(400, {"error": "invalid_grant"}) as (url, asked), VertexUpstream() as upstream:
        service_account(tmp_path / "account.json", url)
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
        provider = VertexProvider(clouds.PROJECT, clouds.REGION, base_url=f"{upstream.url}/v1")
        _, error = await outcome(provider, request())
        await provider.aclose()
    assert error is not None
    assert (error.kind, error.passing, len(asked), upstream.paths) == ("upstream", True, 1, [])


def test_without_google_credentials_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """REQ-H5"""
    assert refused(VertexProvider, clouds.PROJECT, clouds.REGION) == "There are no Google credentials."
    (tmp_path / "account.json").write_text("no JSON")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
    assert refused(VertexProvider, clouds.PROJECT, clouds.REGION) == "There are no Google credentials."
