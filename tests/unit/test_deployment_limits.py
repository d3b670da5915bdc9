"""Limits of a model call: the profile's, and a deployment's in their place."""

from app.compose_assistants import limited
from app.settings import Settings
from assistants.definition import PROFILES, Assistant

ASSISTANT = Assistant(name="a", title="A", instructions="", profile="interactive")


def test_a_profile_has_its_own_times_and_sizes() -> None:
    limits = {
        name: (profile.call_seconds, profile.run_seconds, profile.max_tokens) for name, profile in PROFILES.items()
    }

    assert limits == {  # REQ-Z7 REQ-Z8
        "interactive": (8, 60, 512),
        "kb": (120, 300, 1_024),
        "agent": (600, 86_400, 8_192),
    }


def test_unset_the_profile_counts() -> None:
    assert limited(ASSISTANT, Settings.read({})).effective_limits == PROFILES["interactive"]


def test_a_deployment_may_set_tokens_and_time_of_a_call() -> None:
    settings = Settings.read({"CHAT_MAX_TOKENS": "700", "CHAT_TIMEOUT_MS": "2500"})

    limits = limited(ASSISTANT, settings).effective_limits

    assert (limits.max_tokens, limits.call_seconds) == (700, 2.5)  # REQ-X3 REQ-X4
    assert limits.run_seconds == PROFILES["interactive"].run_seconds
