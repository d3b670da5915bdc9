"""Which provider a model's id gets.

claude-…          Anthropic where a key is bound, else the stub: a missing key fails closed, it does not fail (REQ-H5)
bedrock:<id>      that model on Amazon Bedrock, where it is set up, else the stub; so are bedrock-runtime:<id>, at its older
                  endpoint, vertex:<id>, on Google Vertex AI, and gateway:<id>, at a gateway
scripted:<name>   that script
demo              the demo model
anything else     the stub
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from protocol.errors import TurnkeepError
from providers.port import Provider
from providers.script import Script
from providers.scripted import Pace, ScriptedProvider
from providers.stub import MODEL as STUB_MODEL
from providers.stub import StubProvider

SCRIPTED = "scripted:"
DEMO = "demo"


def is_free(model: str) -> bool:
    """Whether asking this model costs nothing: it runs in this process."""
    return model in (STUB_MODEL, DEMO) or model.startswith(SCRIPTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Providers:
    """The providers of a deployment. `anthropic` is None without a key, `demo` where it is not offered.

    `others` hold Claude's models elsewhere, by the word before the colon of a model's id.
    """

    anthropic: Provider | None = None
    others: Mapping[str, Provider] = field(default_factory=dict)
    demo: Provider | None = None
    stub: Provider = field(default_factory=StubProvider)
    scripts: Mapping[str, Script] = field(default_factory=dict)
    pace: Pace = asyncio.sleep

    def choose(self, model: str, *, require_model: bool = False) -> tuple[Provider, str]:
        """The provider, and the model's id there.

        Raises TurnkeepError "not_configured" where `require_model` is set and only the stub is left, and "invalid" for a
        script that does not exist.
        """
        where, _, there = model.partition(":")
        if where in self.others and there:
            return self.others[where], there
        chosen = self._named(model)
        if chosen is not None:
            return chosen, model
        if require_model:
            raise TurnkeepError("not_configured", "No model is configured for this assistant.")
        return self.stub, STUB_MODEL

    def _named(self, model: str) -> Provider | None:
        if model.startswith("claude-"):
            return self.anthropic
        if model == DEMO:
            return self.demo
        if model.startswith(SCRIPTED):
            script = self.scripts.get(model.removeprefix(SCRIPTED))
            if script is None:
                raise TurnkeepError("invalid", "There is no script of this name.")
            return ScriptedProvider(script, pace=self.pace)
        return None
