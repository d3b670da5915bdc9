"""What a model takes, so that what it rejects is not sent.

By the longest matching prefix of the model's id; of a model that is not listed nothing special is asked. No sampling
parameter is in the table: newer models refuse them and none is ever sent.
"""

from dataclasses import dataclass
from typing import Literal

Thinking = Literal["none", "budget", "adaptive"]
Fast = Literal["no", "beta", "yes"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """`thinking`: how it is asked for. `fast`: whether there is a fast mode, and whether a beta header goes with it."""

    thinking: Thinking = "none"
    fast: Fast = "no"


_MODELS: dict[str, Capabilities] = {
    "claude-3-7": Capabilities("budget"),
    "claude-opus-4": Capabilities("budget"),
    "claude-sonnet-4": Capabilities("budget"),
    "claude-haiku-4-5": Capabilities("budget"),
    "claude-opus-4-6": Capabilities("adaptive"),
    "claude-sonnet-4-6": Capabilities("adaptive"),
    "claude-opus-4-7": Capabilities("adaptive"),
    "claude-opus-4-8": Capabilities("adaptive", "beta"),
    "claude-opus-5": Capabilities("adaptive", "beta"),
    "claude-opus-5-5": Capabilities("adaptive", "yes"),
    "claude-sonnet-5": Capabilities("adaptive"),
    "claude-haiku-5": Capabilities("adaptive"),
    "claude-fable-5": Capabilities("adaptive"),
    "claude-fable-5-2": Capabilities("adaptive", "yes"),
    "claude-mythos": Capabilities("adaptive"),
}


def capabilities(model: str) -> Capabilities:
    """What is known of a model."""
    known = [prefix for prefix in _MODELS if model == prefix or model.startswith(f"{prefix}-")]
    return _MODELS[max(known, key=len)] if known else Capabilities()
