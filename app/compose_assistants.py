"""The assistants of a deployment: those that ship, and its own."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from app.settings import MODEL, Settings
from app.settings_reading import RefusedSettings
from assistants.definition import Assistant
from assistants.demo import demo_assistant
from assistants.loading import AssistantError, load_assistants
from assistants.registry import registry
from providers.choose import SCRIPTED
from providers.script import Script

ROOT = Path(__file__).parents[1]
OUTBOX = "outbox.jsonl"


def shipped(settings: Settings) -> tuple[Assistant, ...]:
    """The assistants that come with the service."""
    return (demo_assistant(root=ROOT, outbox=Path(settings.state_dir) / OUTBOX),)


def assistants_of(settings: Settings, scripts: Mapping[str, Script]) -> Mapping[str, Assistant]:
    """All of them by name, the one that answers where none is named first.

    Raises:
        RefusedSettings: a file of assistants cannot be used, or they name what is not there.
    """
    ours = shipped(settings)
    try:
        own = load_assistants(settings.assistant_paths, taken={one.name for one in ours})
    except AssistantError as error:
        raise RefusedSettings(f"TURNKEEP_ASSISTANTS: {error}") from None
    for one in own:
        _see_model(one, scripts)
    found = registry(*(limited(one, settings) for one in (*ours, *own)))
    default = found.get(settings.assistant)
    if default is None:
        raise RefusedSettings(f"TURNKEEP_ASSISTANT: there is no such assistant; there are {', '.join(found)}")
    return registry(default, *(one for one in found.values() if one is not default))


def _see_model(assistant: Assistant, scripts: Mapping[str, Script]) -> None:
    model = assistant.model
    known = not model or re.fullmatch(MODEL, model)
    if not known or (model.startswith(SCRIPTED) and model.removeprefix(SCRIPTED) not in scripts):
        raise RefusedSettings(
            f"TURNKEEP_ASSISTANTS: the assistant {assistant.name!r} names a model that is not known here: "
            "take one of those of CHAT_MODEL, or leave it empty for that"
        )


def limited(assistant: Assistant, settings: Settings) -> Assistant:
    """The assistant with the deployment's bounds on a model call in place of its profile's."""
    limits = assistant.effective_limits
    if settings.max_tokens is not None:
        limits = replace(limits, max_tokens=settings.max_tokens)
    if settings.timeout_ms is not None:
        limits = replace(limits, call_seconds=settings.timeout_ms / 1_000)
    return replace(assistant, limits=limits)
