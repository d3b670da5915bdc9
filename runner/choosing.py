"""Whom a turn asks: a model and its fallbacks, from their names; and which of them can answer this question."""

from collections.abc import Sequence
from itertools import pairwise

from assistants.definition import Assistant
from engine.values import Fallback
from protocol.json import JsonObject
from providers.choose import Providers
from providers.stub import MODEL as STUB
from providers.stub import can_quote
from runner.parts import Chosen, always_able


def chosen(providers: Providers, assistant: Assistant, names: Sequence[str]) -> Chosen:
    """The first of these models, with the others as its fallbacks. Raises TurnkeepError as `Providers.choose`.

    At last the stub answers, but only where it has something to quote. An assistant that acts, or requires a model, fails
    typed instead.
    """
    first = providers.choose(names[0], require_model=assistant.require_model)
    (provider, model), *others = dict.fromkeys((first, *map(providers.choose, (*names[1:], STUB))))
    quotes = not assistant.tools and not assistant.require_model
    fallbacks = (
        Chosen(*one, able=can_quote if one[0] is providers.stub else always_able)
        for one in others
        if one[0] is not providers.stub or quotes
    )
    return Chosen(provider, model, fallbacks=tuple(fallbacks))


def chain_of(first: Chosen, question: Sequence[JsonObject]) -> tuple[Chosen, ...]:
    """The chosen model and those of its fallbacks that can answer to these messages."""
    return (first, *(one for one in first.fallbacks if one.able(question)))


def fallbacks_of(chain: tuple[Chosen, ...]) -> tuple[Fallback, ...]:
    """The chain after its first, as the engine knows it."""
    return tuple(
        Fallback(after.model, foreign=after.provider is not before.provider) for before, after in pairwise(chain)
    )
