"""What a model takes, so that what it rejects is not sent.

By the longest matching prefix of the model's name; of a model that is not listed nothing special is asked. No sampling
parameter and no prefill is in the table: newer models refuse them, and neither is ever sent.
"""

from dataclasses import dataclass
from typing import Literal

Thinking = Literal["none", "budget", "adaptive"]
Fast = Literal["no", "beta", "yes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What to ask a model for.

    `thinking`: how it is asked for. `fast`: whether there is a fast mode, and whether a beta header goes with it. `bound`:
    its thoughts belong to the exact messages before them, and it can be told to leave out those that do not fit any more.
    `compacts`: it can put a summary in place of old messages.
    """

    thinking: Thinking = "none"
    fast: Fast = "no"
    bound: bool = False
    compacts: bool = False


_BUDGET = Capabilities(thinking="budget")
_ADAPTIVE = Capabilities(thinking="adaptive", compacts=True)
_MODELS: dict[str, Capabilities] = {
    "claude-3-7": _BUDGET,
    "claude-opus-4": _BUDGET,
    "claude-sonnet-4": _BUDGET,
    "claude-haiku-4-5": _BUDGET,
    "claude-opus-4-6": _ADAPTIVE,
    "claude-sonnet-4-6": _ADAPTIVE,
    "claude-opus-4-7": _ADAPTIVE,
    "claude-opus-4-8": Capabilities(thinking="adaptive", fast="beta", compacts=True),
    "claude-opus-5": Capabilities(thinking="adaptive", fast="beta", compacts=True),
    "claude-opus-5-5": Capabilities(thinking="adaptive", fast="yes", bound=True, compacts=True),
    "claude-sonnet-5": _ADAPTIVE,
    "claude-haiku-5": _ADAPTIVE,
    "claude-fable-5": _ADAPTIVE,
    "claude-fable-5-1": Capabilities(thinking="adaptive", bound=True, compacts=True),
    "claude-fable-5-2": Capabilities(thinking="adaptive", fast="yes", bound=True, compacts=True),
    "claude-mythos": _ADAPTIVE,
}


def capabilities(model: str) -> Capabilities:
    """What is known of a model."""
    name = own_name(model)
    known = [prefix for prefix in _MODELS if name == prefix or name.startswith(f"{prefix}-")]
    return _MODELS[max(known, key=len)] if known else Capabilities()


def own_name(model: str) -> str:
    """A model's own name, however the place where it is asked spells it: `us.anthropic.claude-…`, `claude-…@2026`."""
    return model[max(0, model.find("claude-")) :].partition("@")[0]
