"""The laws of `providers/port.py`, over every provider."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from protocol.json import JsonObject
from protocol.model import ModelEvent, Stopped, TextDelta
from tests.contract.providers import UPSTREAMS, World, outcome, request, user, world

QUOTED = "你好🌍 naïve é."


@pytest.fixture(params=["stub", "scripted", *UPSTREAMS])
async def any_world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with world(request.param) as made:
        yield made


@pytest.fixture(params=["scripted", *UPSTREAMS])
async def worldly(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """The providers that can fail: the stub has nothing behind it."""
    async with world(request.param) as made:
        yield made


def question() -> JsonObject:
    passage: JsonObject = {"type": "text", "text": QUOTED}
    result: JsonObject = {"type": "search_result", "source": "s", "title": "t", "content": [passage]}
    return {"role": "user", "content": [result, {"type": "text", "text": "Hello"}]}


async def said(made: World) -> list[ModelEvent]:
    made.hanging.set()  # the pace of a script does not wait
    events, error = await outcome(made.speaks(QUOTED), request(question()))
    assert error is None
    return events


async def test_a_call_ends_with_exactly_one_stop(any_world: World) -> None:
    """M1"""
    stops = [isinstance(event, Stopped) for event in await said(any_world)]
    assert stops == [False] * (len(stops) - 1) + [True]


async def test_a_call_that_breaks_off_has_no_stop_and_one_typed_error(worldly: World) -> None:
    """M1 M2 REQ-H8"""
    worldly.hanging.set()
    events, error = await outcome(worldly.fails("upstream"), request())
    assert TextDelta("Half") in events
    assert not any(isinstance(event, Stopped) for event in events)
    assert error is not None
    assert (error.kind, error.retryable, error.retry_after in {None, 2}) == ("upstream", True, True)


async def test_a_failure_is_told_in_our_words_with_the_time_to_wait(worldly: World) -> None:
    """M2 REQ-H8: no text, address or key of the provider's."""
    worldly.hanging.set()
    _, error = await outcome(worldly.fails("rate_limited"), request())
    assert error is not None
    assert (error.kind, error.retry_after) == ("rate_limited", 2)
    assert not any(foreign in error.message for foreign in ("sk-ant", "http", "Internal"))
    assert error.__cause__ is None


async def test_cancelling_the_consumer_closes_the_call(worldly: World) -> None:
    """M3 REQ-H9: an abort bubbles untouched."""
    provider = worldly.hangs()
    consuming = asyncio.create_task(outcome(provider, request()))
    await worldly.hanging.wait()
    consuming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await consuming
    await worldly.left.wait()


async def test_what_a_call_gave_can_be_sent_back(any_world: World) -> None:
    """M4: the next request is taken, whatever the provider."""
    events = await said(any_world)
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert stopped.content == ({"type": "text", "text": text},)


async def test_text_comes_in_whole_characters(any_world: World) -> None:
    """M5 FR40: the network cut between any two bytes."""
    pieces = [event.text for event in await said(any_world) if isinstance(event, TextDelta)]
    assert QUOTED in "".join(pieces)
    assert not any("\N{REPLACEMENT CHARACTER}" in piece for piece in pieces)
    assert user("".join(pieces))["content"]
