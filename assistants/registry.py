"""The assistants of a deployment by name."""

from collections.abc import Mapping
from types import MappingProxyType

from assistants.definition import Assistant


def registry(*assistants: Assistant) -> Mapping[str, Assistant]:
    """A read-only mapping, in this order. Raises ValueError where two assistants share a name."""
    named: dict[str, Assistant] = {}
    for assistant in assistants:
        if assistant.name in named:
            raise ValueError(f"two assistants are called {assistant.name!r}")
        named[assistant.name] = assistant
    return MappingProxyType(named)
