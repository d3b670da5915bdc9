"""An assistant: a named definition of a model, its instructions and its tools.

The system prompt and the tools are a function of this definition alone, so that a resumed turn sends the model the same
prefix as the first slice did. What cannot be an assistant is refused where it is written.
"""

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.text import whole
from protocol.json import JsonObject
from tools.declare import Tool

__all__ = ["PROFILES", "Assistant", "Limits", "Profile", "WrongDefinition"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)

Profile = Literal["interactive", "kb", "agent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may use. Times in seconds."""

    max_tokens: int = 8_192  # of one model call
    idle_seconds: float = 60.0  # silence of a model call
    call_seconds: float = 600.0
    run_seconds: float = 86_400.0  # at work; waiting for a person does not count
    wait_seconds: float = 604_800.0  # a week: how long a person has to decide or answer
    steps: int = 50
    run_tokens: int = 2_000_000  # of all calls; a runaway loop ends here
    tries: int = 3  # of one model in one step, where it fails in a way that may pass
    repeated_calls: int = 5  # the same call with the same input this often in a row ends the run
    history_turns: int | None = None  # None: all
    history_tokens: int = 150_000  # of what was said before; as estimated, older turns are left out past it
    compact_at: int | None = None  # tokens of input past which the provider may summarise; None: never


PROFILES: dict[Profile, Limits] = {
    "interactive": Limits(max_tokens=512, idle_seconds=8, call_seconds=8, run_seconds=60, history_turns=6),
    "kb": Limits(max_tokens=1_024, idle_seconds=60, call_seconds=120, run_seconds=300, history_turns=6),
    "agent": Limits(),
}


class WrongDefinition(ValueError):
    """This cannot be an assistant. The message names the field and says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assistant:
    """What answers, and how.

    `model` empty means the deployment's `CHAT_MODEL`; `tiers` names other models for some callers; `fallbacks` says whom to
    ask in order where a model fails, None leaves it to the deployment. `parallel_tools` lets the tools of a step run at once.
    `served_tools` are tools that the provider runs, as its API writes them: `{"type": "web_search_20250305", "name": "web_search"}`.
    `suggest` gives prompts to go on with, `entitle` a title for the conversation, both from a question and its answer.
    """

    name: str
    title: str
    instructions: str
    model: str = ""
    tiers: Mapping[str, str] = field(default_factory=dict)
    fallbacks: tuple[str, ...] | None = None
    tools: tuple[Tool, ...] = ()
    served_tools: tuple[JsonObject, ...] = ()
    profile: Profile = "agent"
    limits: Limits | None = None
    parallel_tools: bool = True
    thinking: bool = False
    fast: bool = False
    create_if_missing: bool = True
    require_model: bool = False
    starters: tuple[str, ...] = ()
    suggest: Callable[[str, str], Awaitable[tuple[str, ...]]] | None = None
    entitle: Callable[[str, str], Awaitable[str]] | None = None

    def __post_init__(self) -> None:
        if wrong := _wrong(self):
            raise WrongDefinition(f"the assistant {self.name!r}: {wrong}")

    @property
    def fingerprint(self) -> str:
        """A digest of what a model sees of it. A turn that goes on under another one is sent another prefix."""
        tools = [*(tool.schema.model_dump() for tool in self.tools), *self.served_tools]
        seen = [self.instructions, self.model, self.thinking, tools]
        return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def effective_limits(self) -> Limits:
        return self.limits or PROFILES[self.profile]


def _wrong(assistant: Assistant) -> str:
    texts = {"title": assistant.title, "instructions": assistant.instructions, "model": assistant.model}
    return (
        _wrong_name(assistant.name, assistant.profile)
        or _wrong_starters(assistant.starters)
        or _wrong_texts(texts)
        or _wrong_tools(assistant.tools)
    )


# Taken as objects, because whoever writes a definition may have no type checker.


def _wrong_name(name: object, profile: object) -> str:
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        return "name is letters, digits, _ and -, at most 64, and begins with a letter or a digit"
    return "" if profile in PROFILES else f"profile is one of {', '.join(PROFILES)}"


def _wrong_starters(starters: object) -> str:
    if not isinstance(starters, tuple):
        return "starters is a tuple of texts: write (text,) with the comma, also for one"
    return _wrong_texts({f"starters[{number}]": text for number, text in enumerate(starters)})


def _wrong_texts(texts: Mapping[str, object]) -> str:
    for where, text in texts.items():
        if not isinstance(text, str):
            return f"{where} is a text"
        if whole(text) != text:
            return f"{where} holds a control character or half of a character: take it out"
    return ""


def _wrong_tools(tools: object) -> str:
    if not isinstance(tools, tuple):
        return "tools is a tuple: write (tool,) with the comma, also for one"
    for number, one in enumerate(tools):
        if not isinstance(one, Tool):
            return f'tools[{number}] is no tool: put @tool(repeat="safe") or @tool(repeat="never") above the function'
    names = [one.name for one in tools]
    twice = next((name for name in names if names.count(name) > 1), "")
    return f"two tools of it are called {twice!r}" if twice else ""
