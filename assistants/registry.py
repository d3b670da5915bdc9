"""The assistants of a deployment by name."""

from collections.abc import Mapping
from types import MappingProxyType

from assistants.definition import Assistant


def registry(*assistants: Assistant) -> Mapping[str, Assistant]:
    """A read-only mapping. Raises ValueError where two assistants, or two tools of one, share a name."""
    named: dict[str, Assistant] = {}
    for assistant in assistants:
        tools = [tool.name for tool in assistant.tools]
        if len(set(tools)) < len(tools):
            raise ValueError(f"two tools of the assistant {assistant.name!r} share a name")
        if assistant.name in named:
            raise ValueError(f"two assistants are called {assistant.name!r}")
        named[assistant.name] = assistant
    return MappingProxyType(named)
