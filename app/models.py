"""The addresses at which a deployment may ask a model: Anthropic's own, Amazon Bedrock, a gateway."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from app.settings import Settings
from providers.port import Provider


@asynccontextmanager
async def reached(settings: Settings) -> AsyncIterator[tuple[Provider | None, Mapping[str, Provider]]]:
    """Anthropic where there is a key, and the others by name. Nothing is connected yet; all is closed at the end."""
    wanted = {
        "anthropic": (settings.anthropic_url or None, settings.anthropic_key),
        "bedrock": (settings.bedrock_url, settings.bedrock_key),
        "gateway": (settings.gateway_url, settings.gateway_key),
    }
    made: dict[str, Provider] = {}
    async with AsyncExitStack() as stack:
        for name, (url, key) in wanted.items():
            if url == "" or key is None:
                continue
            # Only here: importing the SDK takes longer than everything else at a start, and most starts have no key.
            from providers.anthropic import BASE_URL, AnthropicProvider, BedrockProvider  # noqa: PLC0415 - see above

            kind = BedrockProvider if name == "bedrock" else AnthropicProvider
            provider = kind(key.get_secret_value(), base_url=url or BASE_URL)
            stack.push_async_callback(provider.aclose)
            made[name] = provider
        yield made.pop("anthropic", None), made
