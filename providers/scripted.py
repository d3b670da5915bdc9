"""A provider that plays a script, for goldens, the demo and benches.

It has no state: which call comes next follows from the history, so a turn that is resumed elsewhere goes on with the right
call. It knows no time-outs of its own: a script says what fails. It does not check what tools answered beyond `expect`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from protocol.errors import ProviderError
from protocol.json import JsonObject
from protocol.model import (
    BlockEnded,
    Cited,
    Compacted,
    ModelEvent,
    ModelRequest,
    Stopped,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
)
from providers.history import calls_made, question, tool_input, tool_results
from providers.script import (
    CompactionEvent,
    ErrorEvent,
    Expect,
    Script,
    ScriptedCall,
    ScriptEvent,
    SourceEvent,
    StopEvent,
    TextEvent,
    ThinkingEvent,
    ToolInputEvent,
)

Pace = Callable[[float], Awaitable[None]]  # waits so many seconds


class ScriptedProvider:
    """Plays one script."""

    name = "scripted"

    def __init__(self, script: Script, *, pace: Pace = asyncio.sleep) -> None:
        self._script = script
        self._pace = pace

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        number = calls_made(request.messages, request.history_start)
        if number >= len(self._script.calls):
            raise ProviderError("invalid", f"The script has {len(self._script.calls)} model calls, not {number + 1}.")
        call = self._script.calls[number].at(request.attempt)
        _check(call.expect, request, number)
        async for event in play(call, model=f"scripted:{self._script.name}", pace=self._pace):
            yield event


async def play(call: ScriptedCall, *, model: str, pace: Pace) -> AsyncIterator[ModelEvent]:
    """The events of one call in time. Raises ProviderError where the script says so."""
    started = False
    for event in port_events(call, model):
        if isinstance(event, ErrorEvent):
            said = "The script lets this model call fail."
            raise ProviderError(event.kind, said, retry_after=event.retry_after, usage=event.usage)
        if isinstance(event, TextDelta | ThinkingDelta | ToolInputDelta):
            if started and call.gap_ms:
                await pace(call.gap_ms / 1000)
            started = True
        yield event


def port_events(call: ScriptedCall, model: str) -> Iterator[ModelEvent | ErrorEvent]:
    """The events of one call without time. An ErrorEvent stands where the call fails; it cuts the block before it."""
    content: list[JsonObject] = []
    ended: BlockEnded | None = None  # held back until it is known that no error follows
    for _, group in groupby(call.events, key=_block_of):
        events = list(group)
        if ended is not None and not isinstance(events[0], ErrorEvent):
            yield ended
        ended = None
        if isinstance(events[0], ErrorEvent):
            yield events[0]
        elif isinstance(events[0], StopEvent):
            yield Stopped(reason=events[0].reason, content=tuple(content), usage=events[0].usage, model=model)
        else:
            block = _block(events)
            yield from block.deltas
            if block.kept is not None:
                content.append(block.kept)
            if block.deltas:  # what shows nothing was not begun and does not end
                ended = BlockEnded(block.signature)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """What is streamed of a block and what the history keeps of it."""

    deltas: Sequence[ModelEvent] = ()
    kept: JsonObject | None = None
    signature: str | None = None


def _block_of(event: ScriptEvent) -> tuple[str, str]:
    return (event.type, event.id if isinstance(event, ToolInputEvent) else "")


def _block(events: Sequence[ScriptEvent]) -> _Block:
    match events[0]:
        case TextEvent():
            return _text([text for event in events if isinstance(event, TextEvent) for text in event.deltas if text])
        case ThinkingEvent():
            return _thinking([event for event in events if isinstance(event, ThinkingEvent)])
        case ToolInputEvent(id=call_id, name=name):
            fragments = [event.delta for event in events if isinstance(event, ToolInputEvent)]
            kept: JsonObject = {"type": "tool_use", "id": call_id, "name": name, "input": tool_input(fragments)}
            return _Block(deltas=[ToolInputDelta(call_id, name, fragment) for fragment in fragments], kept=kept)
        case SourceEvent():
            return _Block(deltas=[_cited(event) for event in events if isinstance(event, SourceEvent)])
        case CompactionEvent(summary=summary):
            return _Block(deltas=[Compacted()], kept={"type": "compaction", "content": summary})
        case _:
            return _Block()  # a block_end only parts its neighbours


def _text(deltas: Sequence[str]) -> _Block:
    if not deltas:  # providers refuse an empty text block in the history
        return _Block()
    return _Block(deltas=[TextDelta(delta) for delta in deltas], kept={"type": "text", "text": "".join(deltas)})


def _cited(event: SourceEvent) -> Cited:
    return Cited(title=event.title, url=event.url, media_type=event.media_type)


def _thinking(events: Sequence[ThinkingEvent]) -> _Block:
    signature = next((event.signature for event in reversed(events) if event.signature), None)
    kept: JsonObject = {"type": "thinking", "thinking": "".join(event.text for event in events)}
    if signature is not None:
        kept["signature"] = signature
    deltas = [ThinkingDelta(event.text) for event in events if event.text]
    return _Block(deltas=deltas, kept=kept, signature=signature)


def _check(expect: Expect, request: ModelRequest, number: int) -> None:
    found = Expect(
        last_user=question(request.messages),
        tools=tuple(tool.name for tool in request.tools),
        tool_results=len(tool_results(request.messages)),
    )
    for field, wanted in expect.model_dump(exclude_none=True).items():
        if getattr(found, field) != wanted:
            raise ProviderError("invalid", f"Call {number + 1} of the script does not fit the request: {field}.")
