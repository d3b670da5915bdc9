"""Which provider a model's id gets."""

import pytest

from protocol.errors import TurnkeepError
from providers.choose import Providers
from providers.script import Script
from providers.scripted import ScriptedProvider
from providers.stub import StubProvider

ANTHROPIC, DEMO, STUB = StubProvider(), StubProvider(), StubProvider()  # told apart by identity
SCRIPTS = {"sum": Script(name="sum", input="", calls=())}
KEYED = Providers(anthropic=ANTHROPIC, demo=DEMO, stub=STUB, scripts=SCRIPTS)
KEYLESS = Providers(demo=DEMO, stub=STUB, scripts=SCRIPTS)


def test_a_claude_model_needs_a_key_and_falls_closed_to_the_stub() -> None:
    """REQ-H5"""
    assert KEYED.choose("claude-opus-4-8") == (ANTHROPIC, "claude-opus-4-8")
    assert KEYLESS.choose("claude-opus-4-8") == (STUB, "stub-chat-v1")
    assert KEYED.choose("stub-chat-v1") == (STUB, "stub-chat-v1")
    assert KEYED.choose("gpt-x") == (STUB, "stub-chat-v1")
    assert KEYED.choose("") == (STUB, "stub-chat-v1")


def test_the_word_before_a_colon_says_where_a_model_is_asked() -> None:
    """REQ-G2: the same model elsewhere; where nothing is set up the stub answers, as without a key."""
    elsewhere = StubProvider()
    providers = Providers(stub=STUB, others={"bedrock": elsewhere, "bedrock-runtime": elsewhere})
    assert providers.choose("bedrock:anthropic.claude-opus-4-8") == (elsewhere, "anthropic.claude-opus-4-8")
    assert providers.choose("bedrock-runtime:us.anthropic.claude-opus-4-5-20251101-v1:0") == (
        elsewhere,
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
    )
    assert providers.choose("vertex:claude-opus-4-5@20251101") == (STUB, "stub-chat-v1")
    assert providers.choose("gateway:claude-opus-4-8") == (STUB, "stub-chat-v1")
    assert providers.choose("bedrock:") == (STUB, "stub-chat-v1")


def test_the_demo_and_scripts_are_chosen_by_name() -> None:
    assert KEYLESS.choose("demo") == (DEMO, "demo")
    assert Providers(stub=STUB).choose("demo") == (STUB, "stub-chat-v1")
    provider, model = KEYLESS.choose("scripted:sum")
    assert isinstance(provider, ScriptedProvider)
    assert model == "scripted:sum"
    with pytest.raises(TurnkeepError) as raised:
        KEYLESS.choose("scripted:none")
    assert raised.value.kind == "invalid"


def test_an_assistant_that_requires_a_model_does_not_get_the_stub() -> None:
    """REQ-A13: 500 where a model is required and none is configured."""
    assert KEYED.choose("claude-opus-4-8", require_model=True) == (ANTHROPIC, "claude-opus-4-8")
    with pytest.raises(TurnkeepError) as raised:
        KEYLESS.choose("claude-opus-4-8", require_model=True)
    assert raised.value.kind == "not_configured"
