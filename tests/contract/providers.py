"""What the provider suites share: requests, and each provider made to speak, fail or hang."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from protocol.errors import ErrorKind, ProviderError
from protocol.json import JsonObject
from protocol.model import Metered, ModelEvent, ModelRequest, ToolSchema
from providers.anthropic import AnthropicProvider
from providers.bedrock_runtime import BedrockRuntimeProvider
from providers.port import Provider
from providers.script import ErrorEvent, Script, ScriptedCall, StopEvent, TextEvent
from providers.scripted import ScriptedProvider
from providers.stub import StubProvider
from providers.vertex import VertexProvider
from tests.fakes import anthropic_upstream as wire
from tests.fakes import clouds
from tests.fakes.anthropic_upstream import Reply, Upstream
from tests.fakes.clouds import BedrockRuntimeUpstream, VertexUpstream

UPSTREAMS = {"anthropic": Upstream, "bedrock-runtime": BedrockRuntimeUpstream, "vertex": VertexUpstream}
FIND = ToolSchema(name="find", description="Find.", input_schema={"type": "object"})


def user(text: str) -> JsonObject:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def request(
    *messages: JsonObject, model: str = "claude-x-1", seconds: float = 20, thinking: bool = False, fast: bool = False
) -> ModelRequest:
    return ModelRequest(
        model=model,
        system="Be brief.",
        messages=messages or (user("Hello"),),
        tools=(FIND,),
        max_tokens=8192,
        idle_seconds=seconds,
        call_seconds=20,
        thinking=thinking,
        fast=fast,
    )


async def outcome(provider: Provider, asked: ModelRequest) -> tuple[list[ModelEvent], ProviderError | None]:
    """The events of a call, and how it failed where it did."""
    seen: list[ModelEvent] = []
    try:
        async for event in provider.stream(asked):
            if not isinstance(event, Metered):
                seen.append(event)  # noqa: PERF401 - what came before an error counts
    except ProviderError as error:
        return seen, error
    return seen, None


class World(ABC):
    """A provider, and the power over what is behind it."""

    def __init__(self) -> None:
        self.hanging = asyncio.Event()  # the call hangs now
        self.left = asyncio.Event()  # what was behind it noticed that the consumer is gone

    @abstractmethod
    def speaks(self, text: str) -> Provider: ...

    @abstractmethod
    def fails(self, kind: ErrorKind) -> Provider: ...

    @abstractmethod
    def hangs(self) -> Provider: ...


class StubWorld(World):
    """Quotes what it is given; it cannot fail or hang."""

    def speaks(self, text: str) -> Provider:
        return StubProvider()

    def fails(self, kind: ErrorKind) -> Provider:
        raise NotImplementedError

    def hangs(self) -> Provider:
        raise NotImplementedError


class ScriptedWorld(World):
    def speaks(self, text: str) -> Provider:
        return self._plays(
            TextEvent(type="text", text=text[:3]), TextEvent(type="text", text=text[3:]), StopEvent(type="stop")
        )

    def fails(self, kind: ErrorKind) -> Provider:
        return self._plays(TextEvent(type="text", text="Half"), ErrorEvent(type="error", kind=kind, retry_after=2))

    def hangs(self) -> Provider:
        return self._plays(TextEvent(type="text", text="a b", words=True), StopEvent(type="stop"))

    def _plays(self, *events: TextEvent | ErrorEvent | StopEvent) -> Provider:
        script = Script(name="law", input="", calls=(ScriptedCall(events=events, gap_ms=1),))
        return ScriptedProvider(script, pace=self._pace)

    async def _pace(self, _: float) -> None:
        if self.hanging.is_set():
            return
        self.hanging.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left.set()


class AnthropicWorld(World):
    def __init__(self, upstream: Upstream, provider: Provider) -> None:
        super().__init__()
        self._upstream = upstream
        self._provider = provider
        self.hanging, self.left = upstream.held, upstream.left

    def speaks(self, text: str) -> Provider:
        whole = self._upstream.body(wire.spoken(wire.text(text)))
        return self._replies(Reply([whole[at : at + 1] for at in range(len(whole))]))

    def fails(self, kind: ErrorKind) -> Provider:
        if kind == "rate_limited":
            return self._replies(self._upstream.refused("rate_limit_error", 429, retry_after="2"))
        begun = self._upstream.body(wire.spoken(wire.text("Half"))[:4])
        return self._replies(Reply([begun, self._upstream.broken()]))

    def hangs(self) -> Provider:
        return self._replies(Reply([self._upstream.body(wire.spoken(wire.text("a"))[:4])], end="hold"))

    def _replies(self, reply: Reply) -> Provider:
        self._upstream.replies.append(reply)
        return self._provider


@asynccontextmanager
async def anthropic_at(upstream: Upstream) -> AsyncIterator[AnthropicProvider]:
    """The adapter that speaks to this upstream."""
    provider = _adapter(upstream)
    try:
        yield provider
    finally:
        await provider.aclose()


def _adapter(upstream: Upstream) -> AnthropicProvider:
    match upstream:
        case VertexUpstream():
            url = f"{upstream.url}/v1"
            return VertexProvider(clouds.PROJECT, clouds.REGION, base_url=url, token=clouds.TOKEN)
        case BedrockRuntimeUpstream():
            return BedrockRuntimeProvider(
                clouds.REGION, base_url=upstream.url, access_key=clouds.ACCESS_KEY, secret_key=clouds.SECRET_KEY
            )
        case _:
            return AnthropicProvider("sk-ant-test", base_url=upstream.url)


@asynccontextmanager
async def world(name: str) -> AsyncIterator[World]:
    match name:
        case "scripted":
            yield ScriptedWorld()
        case "stub":
            yield StubWorld()
        case _:
            async with UPSTREAMS[name]() as upstream, anthropic_at(upstream) as provider:
                yield AnthropicWorld(upstream, provider)
