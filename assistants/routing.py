"""Which models answer for an assistant: a function of what it says, of the caller's tier, and of the deployment (REQ-G9)."""

from assistants.definition import Assistant


def models_of(assistant: Assistant, tier: str, *, model: str, fallbacks: tuple[str, ...]) -> tuple[str, ...]:
    """The ids of the models in the order in which they are asked, each once.

    `model` and `fallbacks` are the deployment's, for what the assistant leaves open. A tier that it does not name is as none.
    """
    first = assistant.tiers.get(tier) or assistant.model or model
    others = fallbacks if assistant.fallbacks is None else assistant.fallbacks
    return tuple(dict.fromkeys((first, *others)))
