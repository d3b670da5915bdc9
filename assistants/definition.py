"""An assistant: a named definition of a model, its instructions and its tools.

The system prompt and the tools are a function of this definition alone, so that a resumed turn sends the model the same
prefix as the first slice did.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from protocol.json import JsonObject
from tools.declare import Tool

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

    @property
    def effective_limits(self) -> Limits:
        return self.limits or PROFILES[self.profile]
