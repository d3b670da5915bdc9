"""Which models answer for an assistant, and in which order."""

from dataclasses import replace

import pytest

from assistants.definition import Assistant
from assistants.routing import models_of
from protocol.json import JsonObject
from providers.choose import Providers
from providers.script import Script
from providers.stub import StubProvider
from runner.choosing import chain_of, chosen, fallbacks_of
from tests.rig import Outside

PLAIN = Assistant(name="plain", title="Plain", instructions="")
ACTING = replace(PLAIN, tools=Outside().tools)
SCRIPTS = {"one": Script(name="one", input="", calls=()), "two": Script(name="two", input="", calls=())}
ANTHROPIC = StubProvider()
PASSAGE: JsonObject = {"type": "search_result", "content": [{"type": "text", "text": "Frames are events."}]}
ASKED: tuple[JsonObject, ...] = ({"role": "user", "content": [{"type": "text", "text": "Frames?"}]},)
ASKED_WITH_PASSAGE: tuple[JsonObject, ...] = (
    {"role": "user", "content": [PASSAGE, {"type": "text", "text": "Frames?"}]},
)


@pytest.mark.parametrize(
    ("assistant", "tier", "models"),
    [
        (PLAIN, "", ("house", "spare")),
        (replace(PLAIN, model="own"), "pro", ("own", "spare")),
        (replace(PLAIN, model="own", tiers={"pro": "best"}), "pro", ("best", "spare")),
        (replace(PLAIN, model="own", tiers={"pro": "best"}), "free", ("own", "spare")),
        (replace(PLAIN, tiers={"pro": "best"}), "", ("house", "spare")),
        (replace(PLAIN, fallbacks=()), "", ("house",)),
        (replace(PLAIN, fallbacks=("house", "b", "c", "b")), "", ("house", "b", "c")),
    ],
)
def test_the_model_follows_the_tier_and_the_assistant_before_the_deployment(
    assistant: Assistant, tier: str, models: tuple[str, ...]
) -> None:
    """REQ-G9"""
    assert models_of(assistant, tier, model="house", fallbacks=("spare",)) == models


def test_a_chain_asks_each_model_at_its_own_provider() -> None:
    providers = Providers(anthropic=ANTHROPIC, scripts=SCRIPTS)
    first = chosen(providers, ACTING, ("claude-a", "claude-b", "scripted:one"))

    assert [one.model for one in chain_of(first, ASKED)] == ["claude-a", "claude-b", "scripted:one"]
    assert [one.foreign for one in fallbacks_of(chain_of(first, ASKED))] == [False, True]


@pytest.mark.parametrize(
    ("assistant", "question", "models"),
    [
        (PLAIN, ASKED_WITH_PASSAGE, ["claude-a", "stub-chat-v1"]),
        (PLAIN, ASKED, ["claude-a"]),
        (ACTING, ASKED_WITH_PASSAGE, ["claude-a"]),
        (replace(PLAIN, require_model=True), ASKED_WITH_PASSAGE, ["claude-a"]),
    ],
    ids=["something to quote", "nothing to quote", "an assistant that acts", "an assistant that requires a model"],
)
def test_the_stub_answers_at_last_only_where_it_can_quote(
    assistant: Assistant, question: tuple[JsonObject, ...], models: list[str]
) -> None:
    """REQ-H10"""
    first = chosen(Providers(anthropic=ANTHROPIC), assistant, ("claude-a",))

    assert [one.model for one in chain_of(first, question)] == models


def test_without_a_key_the_chain_is_not_twice_the_stub() -> None:
    """REQ-H5"""
    first = chosen(Providers(), PLAIN, ("claude-a", "claude-b", "stub-chat-v1"))

    assert [one.model for one in chain_of(first, ASKED_WITH_PASSAGE)] == ["stub-chat-v1"]
