"""Odd values on their whole way: from the model to a tool, back to the model, to the reader, through every checkpoint."""

import json
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from protocol.json import JsonObject
from protocol.model import ModelRequest, ProviderEvent
from providers.port import Provider
from providers.script import Script, parse_script
from records.records import Records
from tests.rig import Outside, Rig
from tools.declare import Tool, tool

BIG = 2512292042121000001


@dataclass
class Odd(Outside):
    """Tools that are given, and give, what JSON has no clear word for."""

    given: list[object] = field(default_factory=list)

    @property
    def tools(self) -> tuple[Tool, ...]:
        @tool(repeat="safe")
        async def look(value: dict[str, Any]) -> dict[str, Any]:
            """Look at a value."""
            self.given.append(value)
            return value

        @tool(repeat="safe")
        async def measure() -> dict[str, Any]:
            """Give what has no end."""
            return {"p": math.nan, "q": [math.inf, -math.inf], "cost": Decimal("NaN"), "at": {1, 2}}

        @tool(repeat="safe")
        async def refuse() -> object:
            """Give what is no value."""
            return object()

        return (look, measure, refuse)


@dataclass(kw_only=True)
class Watched(Rig):
    """A rig that keeps what the model was asked."""

    outside: Outside = field(default_factory=Odd)
    asked: list[ModelRequest] = field(default_factory=list)

    def provider(self, script: Script) -> Provider:
        return _Listening(super().provider(script), self.asked)


class _Listening:
    name = "listening"

    def __init__(self, provider: Provider, asked: list[ModelRequest]) -> None:
        self._provider = provider
        self._asked = asked

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        self._asked.append(request)
        async for event in self._provider.stream(request):
            yield event


def turn_of(*calls: tuple[str, str]) -> Script:
    """One step with these calls, tool and input, and one that answers."""
    tools = [
        {"type": "tool_input", "id": f"p{number}", "name": name, "delta": given}
        for number, (name, given) in enumerate(calls)
    ]
    lines = [
        {"v": 1, "name": "odd", "input": "Look."},
        {"events": [*tools, {"type": "stop", "reason": "tool_use"}]},
        {"events": [{"type": "text", "text": "Seen."}, {"type": "stop"}]},
    ]
    return parse_script("\n".join(json.dumps(line) for line in lines))


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What came of a turn, on every side."""

    given: list[object]
    status: str
    shown: list[Any]  # what the reader got of each call: input, and output or error
    results: list[str]  # what the model was told, as texts
    history: tuple[JsonObject, ...]


async def played(script: Script, *, slice_ms: int | None) -> Seen:
    async with await Records.in_memory() as records:
        rig = Watched(records=records)
        await rig.begin(script.input)
        slices = await rig.run(script, slice_ms=slice_ms)
        frames: list[Any] = [*await rig.frames()]
    ended = ("tool-output-available", "tool-output-error")
    answers = [frame.get("output", frame.get("errorText")) for frame in frames if frame["type"] in ended]
    inputs = [frame["input"] for frame in frames if frame["type"] == "tool-input-available"]
    history = rig.asked[-1].messages
    blocks: list[Any] = history[-1]["content"]  # type: ignore[assignment] # results of tools are blocks
    told = [block["content"] if isinstance(block["content"], str) else block["content"][0]["text"] for block in blocks]
    assert isinstance(rig.outside, Odd)
    return Seen(
        given=rig.outside.given,
        status=slices[-1].status,
        shown=list(zip(inputs, answers, strict=True)),
        results=told,
        history=history,
    )


async def test_every_digit_reaches_the_tool_the_next_prompt_and_the_reader() -> None:
    """FR41 [F8]: a browser would round a number, so it gets a text."""
    script = turn_of(("look", f'{{"value": {{"id": {BIG}, "one": 1.0, "zero": -0, "a": 1, "a": 2}}}}'))
    exact = {"id": BIG, "one": 1.0, "zero": 0, "a": 2}
    shown = exact | {"id": str(BIG)}
    whole, sliced = await played(script, slice_ms=None), await played(script, slice_ms=0)

    assert (str(whole.given), whole.shown) == (str([exact]), [({"value": shown}, shown)])
    assert (whole.results, whole.status) == ([json.dumps(exact)], "completed")
    assert f'"input": {{"value": {json.dumps(exact)}}}' in json.dumps(whole.history)
    assert sliced == whole  # the checkpoint's JSON keeps them too: REQ-Y3


async def test_a_number_that_nobody_can_hold_is_told_to_the_model_and_the_turn_goes_on() -> None:
    """FR41 FR42"""
    script = turn_of(*(("look", f'{{"value": {{"n": {number}}}}}') for number in ("9" * 4_500, "1e400", "NaN")))
    whole, sliced = await played(script, slice_ms=None), await played(script, slice_ms=0)

    assert (whole.given, whole.status) == ([], "completed")
    assert ["not made" in told for told in whole.results] == [True, True, True]
    assert [given for given, _ in whole.shown] == [{}, {}, {}]
    assert sliced == whole


async def test_what_a_tool_gives_is_strict_json_everywhere_or_an_error_and_the_turn_goes_on() -> None:
    """FR42: not a number becomes null."""
    script = turn_of(("measure", "{}"), ("refuse", "{}"))
    whole, sliced = await played(script, slice_ms=None), await played(script, slice_ms=0)

    measured = {"p": None, "q": [None, None], "cost": None, "at": [1, 2]}
    refused = "The tool's result cannot be used: a value of type object is not JSON."
    assert whole.shown == [({}, measured), ({}, refused)]
    assert (whole.results, whole.status) == ([json.dumps(measured), refused], "completed")
    assert sliced == whole
