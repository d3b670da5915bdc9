"""A chain over all places: who fails is left, who answers is named, and the history goes along."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from checkpoints.memory import MemoryRunStore
from protocol.turn import SliceResult
from providers.choose import Providers
from records.records import Records
from runner.choosing import chosen
from tests.contract.providers import UPSTREAMS, anthropic_at
from tests.fakes import anthropic_upstream as wire
from tests.fakes import event_stream
from tests.fakes.anthropic_upstream import Reply, Upstream
from tests.provider_bench import NO_SCRIPT
from tests.provider_cases import shape
from tests.rig import Rig

FIRST = "claude-fable-5-2"
AT_GOOGLE = "claude-fable-5-2@20260901"
AT_AMAZON = "us.anthropic.claude-fable-5-2-v1:0"
NAMES = (FIRST, f"vertex:{AT_GOOGLE}", f"bedrock-runtime:{AT_AMAZON}")
OVERLOADED = wire.refused("overloaded_error", 529)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Three upstreams, and a rig whose model is the first of them."""

    upstreams: dict[str, Upstream]
    rig: Rig

    def answers(self, place: str, text: str) -> None:
        upstream = self.upstreams[place]
        upstream.replies.append(Reply([upstream.body(wire.spoken(wire.text(text), model=place))]))

    def asks(self, place: str) -> None:
        upstream = self.upstreams[place]
        call = wire.tool_use("a", "send", '{"text":"hi"}')
        said = wire.spoken(wire.thinking("Hm.", signature="c2ln"), call, reason="tool_use")
        upstream.replies.append(Reply([upstream.body(said)]))

    async def play(self) -> SliceResult:
        await self.rig.begin("Go.")
        return (await self.rig.run(NO_SCRIPT))[-1]

    async def told(self, kind: str) -> list[Any]:
        frames: list[Any] = await self.rig.frames()
        return [frame["data"] for frame in frames if frame["type"] == kind]

    @property
    def asked(self) -> dict[str, int]:
        return {place: len(upstream.requests) for place, upstream in self.upstreams.items()}

    @property
    def complaints(self) -> list[str]:
        return [said for upstream in self.upstreams.values() for said in upstream.complaints]


@pytest.fixture
async def chain() -> AsyncIterator[Chain]:
    async with _chain() as made:
        yield made


@asynccontextmanager
async def _chain() -> AsyncIterator[Chain]:
    async with AsyncExitStack() as stack, await Records.in_memory() as records:
        upstreams = {name: await stack.enter_async_context(kind()) for name, kind in UPSTREAMS.items()}
        adapters = {
            name: await stack.enter_async_context(anthropic_at(upstream)) for name, upstream in upstreams.items()
        }
        providers = Providers(anthropic=adapters.pop("anthropic"), others=adapters)
        rig = Rig(records=records)
        rig.store = MemoryRunStore(rig.clock)
        rig.choose = lambda assistant, _request: chosen(providers, assistant, NAMES)
        yield Chain(upstreams=upstreams, rig=rig)


async def test_where_anthropic_is_overloaded_google_answers_and_is_named(chain: Chain) -> None:
    """REQ-G2 REQ-H10"""
    chain.upstreams["anthropic"].replies.append(OVERLOADED)
    chain.answers("vertex", "From Google.")
    assert (await chain.play()).status == "completed"
    assert await chain.told("data-model-fallback") == [{"from": FIRST, "to": AT_GOOGLE, "reason": "upstream"}]
    assert [reply["model"] for reply in await chain.told("data-reply")] == ["vertex"]  # as the answer said it
    assert (chain.asked, chain.complaints) == ({"anthropic": 1, "bedrock-runtime": 0, "vertex": 1}, [])


async def test_an_effect_before_the_fallback_stays_and_amazon_goes_on_from_it(chain: Chain) -> None:
    """REQ-G2 LAW-P3: two places fail in the second step; thoughts of one are not sent to another."""
    chain.asks("anthropic")
    chain.upstreams["anthropic"].replies.append(OVERLOADED)
    chain.upstreams["vertex"].replies.append(chain.upstreams["vertex"].refused("rate_limit_error", 429))
    chain.answers("bedrock-runtime", "From Amazon.")
    assert (await chain.play()).status == "completed"
    assert [told["to"] for told in await chain.told("data-model-fallback")] == [AT_GOOGLE, AT_AMAZON]
    assert [told["reason"] for told in await chain.told("data-model-fallback")] == ["upstream", "rate_limited"]
    assert len(chain.rig.outside.effects) == 1
    assert (chain.asked, chain.complaints) == ({"anthropic": 2, "bedrock-runtime": 1, "vertex": 1}, [])
    assert shape(chain.upstreams["bedrock-runtime"].requests[0]["messages"]) == [  # type: ignore[arg-type] # as it was sent
        "user: text", "assistant: tool_use", "user: tool_result",
    ]  # fmt: skip


async def test_a_throttled_stream_is_tried_again_before_it_is_left(chain: Chain) -> None:
    """REQ-G2 REQ-B25: what the call had shown is withdrawn."""
    chain.rig.with_limits(tries=2)
    amazon = chain.upstreams["bedrock-runtime"]
    half = amazon.body(wire.spoken(wire.text("Half"))[:4])
    for place in ("anthropic", "vertex"):
        refused = chain.upstreams[place].refused("rate_limit_error", 429)
        chain.upstreams[place].replies += [refused, refused]
    amazon.replies.append(Reply([half, event_stream.exception("throttlingException", "slow down")]))
    chain.answers("bedrock-runtime", "At last.")
    assert (await chain.play()).status == "completed"
    assert chain.asked == {"anthropic": 2, "bedrock-runtime": 2, "vertex": 2}
    limited = await chain.told("data-rate-limited")
    assert [(told["reason"], told["attempt"]) for told in limited] == [("rate_limited", 2)] * 3
    frames: list[Any] = await chain.rig.frames()
    assert [frame["type"] for frame in frames].count("reset-step") == 1
    assert "".join(frame.get("delta", "") for frame in frames) == "HalfAt last."


async def test_where_all_of_them_fail_the_turn_ends_with_a_typed_error(chain: Chain) -> None:
    """REQ-H10: an assistant that acts is never answered by the stub."""
    for place, upstream in chain.upstreams.items():
        upstream.replies.append(OVERLOADED if place == "anthropic" else upstream.refused("overloaded_error", 503))
    assert (await chain.play()).status == "failed"
    assert [error["kind"] for error in await chain.told("data-error")] == ["upstream"]
    assert chain.asked == {"anthropic": 1, "bedrock-runtime": 1, "vertex": 1}
