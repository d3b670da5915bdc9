"""The addresses at which a deployment may ask a model: Anthropic's own, Amazon's, Google's, a gateway."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from pydantic import SecretStr

from app.settings import Settings
from protocol.errors import TurnkeepError
from providers.port import Provider

if TYPE_CHECKING:
    from providers.anthropic import AnthropicProvider

logger = logging.getLogger(__name__)


@asynccontextmanager
async def reached(settings: Settings) -> AsyncIterator[tuple[Provider | None, Mapping[str, Provider]]]:
    """Anthropic where there is a key, and the others by name. Nothing is connected yet; all is closed at the end."""
    made: dict[str, Provider] = {}
    async with AsyncExitStack() as stack:
        for name in _wanted(settings):
            try:
                # In a thread: it may look for credentials in files, or at an address of the machine it runs on.
                provider = await asyncio.to_thread(_made, name, settings)
            except (TurnkeepError, ImportError) as error:
                logger.warning("no model is asked at %s: %s", name, error)
                continue
            stack.push_async_callback(provider.aclose)
            made[name] = provider
        yield made.pop("anthropic", None), made


def _wanted(settings: Settings) -> list[str]:
    """The places of which everything is said that must be."""
    needed: dict[str, tuple[str | SecretStr | None, ...]] = {
        "anthropic": (settings.anthropic_key,),
        "bedrock": (settings.bedrock_url, settings.bedrock_key),
        "bedrock-runtime": (settings.bedrock_region,),
        "gateway": (settings.gateway_url, settings.gateway_key),
        "vertex": (settings.vertex_project, settings.vertex_region),
    }
    return [name for name, parts in needed.items() if all(parts)]


def _made(name: str, settings: Settings) -> "AnthropicProvider":
    """What asks at a place. Raises TurnkeepError or ImportError where its credentials or its packages are missing."""
    # Only here: importing the SDK takes longer than everything else at a start, and most starts have no key.
    from providers.anthropic import BASE_URL, AnthropicProvider, BedrockProvider  # noqa: PLC0415 - see above

    match name:
        case "bedrock":
            return BedrockProvider(_plain(settings.bedrock_key), base_url=settings.bedrock_url)
        case "bedrock-runtime":
            return _bedrock_runtime(settings)
        case "gateway":
            return AnthropicProvider(_plain(settings.gateway_key), base_url=settings.gateway_url)
        case "vertex":
            return _vertex(settings)
        case _:
            return AnthropicProvider(_plain(settings.anthropic_key), base_url=settings.anthropic_url or BASE_URL)


def _bedrock_runtime(settings: Settings) -> "AnthropicProvider":
    from providers.bedrock_runtime import BedrockRuntimeProvider  # noqa: PLC0415 - it needs boto3, which is optional

    return BedrockRuntimeProvider(
        settings.bedrock_region,
        base_url=settings.bedrock_runtime_url,
        access_key=_plain(settings.bedrock_access_key),
        secret_key=_plain(settings.bedrock_secret_key),
    )


def _vertex(settings: Settings) -> "AnthropicProvider":
    from providers.vertex import VertexProvider  # noqa: PLC0415 - it needs google-auth, which is optional

    return VertexProvider(
        settings.vertex_project,
        settings.vertex_region,
        base_url=settings.vertex_url,
        token=_plain(settings.vertex_token),
    )


def _plain(key: SecretStr | None) -> str:
    return key.get_secret_value() if key else ""
