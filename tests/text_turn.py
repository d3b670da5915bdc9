"""One turn that carries the same text in every field there is. tests/text_fields.py says where each is found again."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from api.bodies import parse_object
from api.chat_body import parse_chat
from api.input_body import parse_input
from assistants.definition import Assistant
from checkpoints.memory import MemoryRunStore
from checkpoints.port import Append, Appended, Grip, Order, Refusal
from engine import checkpoint
from engine.fold import fold
from protocol.checkpoint import Message, Seal
from protocol.model import (
    BlockEnded,
    Cited,
    ModelRequest,
    ProviderEvent,
    Stopped,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
)
from providers.port import Provider
from providers.script import Script, parse_script
from records.records import Records
from records.values import Key, Span
from runner.port import Job
from tests.rig import MESSAGE_ID, RUN_ID, Rig, StillClock
from tools.declare import Artifact, Call, Tool, tool

ASKED, DENIED = "c1.3", "c1.2"
LONGEST = 4_000
NOTHING = parse_script('{"v":1,"name":"text","input":"x"}\n{"events":[{"type":"stop"}]}')


def units(text: str) -> Iterator[str]:
    """The text as UTF-16 units, each a delta: how a provider that escapes every unit may cut it."""
    raw = text.encode("utf-16-le", "surrogatepass")
    return (raw[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(raw), 2))


class _Speaker:
    """A model that says the text wherever a model can say anything. It keeps what it was asked."""

    name = "speaker"

    def __init__(self, text: str) -> None:
        self.asked: list[ModelRequest] = []
        self.text = text

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        self.asked.append(request)
        for event in self._first() if len(self.asked) == 1 else self._last():
            yield event

    def _first(self) -> Iterator[ProviderEvent]:
        text = self.text
        given = {"value": text, "at": {text: text}}
        calls: list[tuple[str, Any]] = [
            ("look", given),
            ("broken", {"value": text}),
            ("pay", {}),
            ("ask", {}),
            ("report", {"value": text}),
        ]
        yield from (ThinkingDelta(unit) for unit in units(text))
        yield BlockEnded(None)
        yield from (TextDelta(unit) for unit in units(text))
        yield BlockEnded(None)
        yield from (Cited(title=text), Cited(title=text, url=text))
        for number, (name, given) in enumerate(calls):
            yield ToolInputDelta(f"p{number}", name, json.dumps(given))
        used = [
            {"type": "tool_use", "id": f"p{number}", "name": name, "input": given}
            for number, (name, given) in enumerate(calls)
        ]
        content: list[Any] = [{"type": "thinking", "thinking": text}, {"type": "text", "text": text}, *used]
        yield Stopped(reason="tool_use", content=tuple(content))

    def _last(self) -> Iterator[ProviderEvent]:
        yield TextDelta(self.text)
        yield Stopped(reason="end_turn", content=({"type": "text", "text": self.text},))


class _Listening(MemoryRunStore):
    """Keeps the checkpoints it was given."""

    deltas: tuple[bytes, ...] = ()

    async def append(self, grip: Grip, append: Append) -> Appended | Refusal:
        if append.delta is not None:
            self.deltas = (*self.deltas, append.delta)
        return await super().append(grip, append)


@dataclass(kw_only=True)
class Carrier(Rig):
    """A rig for a turn full of one text. `given` is what the tool `look` was called with."""

    speaker: _Speaker
    given: list[Any] = field(default_factory=list)

    def provider(self, script: Script) -> Provider:
        return self.speaker

    @property
    def assistant(self) -> Assistant:
        async def suggest(_question: str, _answer: str) -> tuple[str, ...]:
            return (self.speaker.text,)

        return replace(super().assistant, suggest=suggest)

    def tools_for(self, text: str) -> tuple[Tool, ...]:
        @tool(repeat="safe")
        async def look(value: str, at: dict[str, str]) -> dict[str, object]:
            """Give back what was given."""
            self.given.append({"value": value, "at": at})
            return {"value": value, "at": {text: [text]}}

        @tool(repeat="safe")
        async def broken(value: str) -> str:
            """Fail with what was given."""
            raise ValueError(text)

        @tool(repeat="never", approval=True)
        async def pay() -> str:
            """Pay."""
            raise AssertionError

        @tool(repeat="safe", question=True)
        async def ask() -> str:
            """Ask the user."""
            raise AssertionError

        @tool(repeat="safe")
        async def report(call: Call, value: str) -> str:
            """Tell how far it is."""
            call.progress({text: text})
            call.present(Artifact(kind=text, title=text, url=text, content={text: text}))
            return text

        return (look, broken, pay, ask, report)


@dataclass(frozen=True, kw_only=True)
class Carried:
    """What a turn with this text left on every side."""

    frames: list[Any]
    message: Message  # what folding the frames gives
    checkpoint: Message
    sealed: Message
    stored: list[tuple[Any, ...]]  # the parts of the question and of the answer
    title: str
    prompts: list[Any]  # the messages that the first and the second model call were sent
    next_turn: list[Any]  # what the next turn will be told of this one
    given: Any
    claimed: str  # what the client said was said before

    @property
    def messages(self) -> dict[str, Any]:
        """The answer, wherever it is."""
        places = {"stream": self.message, "checkpoint": self.checkpoint, "seal": self.sealed}
        return {name: message.parts for name, message in places.items()} | {"records": self.stored[1]}

    def block(self, kind: str, nth: int = 0) -> Any:
        """The n-th block of a kind in the second prompt, which a checkpoint was between."""
        content = [block for message in self.prompts[1] for block in message["content"]]
        return [block for block in content if block["type"] == kind][nth]


def read(**body: Any) -> dict[str, Any]:
    """The body as our routes read it."""
    return parse_object(json.dumps(body).encode(), 32)


async def carried(text: str) -> Carried:
    """Play the turn, in slices as short as they can be."""
    before = {"history": [{"role": "user", "content": text}]}
    chat = parse_chat(read(message=text, context=before), None, LONGEST)
    async with await Records.in_memory() as records:
        key = Key(owner="ada", conversation_id="talk")
        await records.create(key, read(title=text)["title"], 0)
        store = _Listening(StillClock())
        rig = Carrier(records=records, store=store, speaker=_Speaker(text))
        rig.more_tools = rig.tools_for(text)
        await rig.begin(chat.text)
        await _play(rig, text)
        conversation = await records.conversation(key)
        messages = await records.messages(key, Span()) or ()
        history = await records.history("", "talk", 100, None)
        frames = [*await rig.frames()]
        seal = Seal.model_validate_json(await store.sealed(RUN_ID) or b"")
    message = Message(id=MESSAGE_ID)
    for frame in frames:
        message = fold(message, frame)
    return Carried(
        frames=frames,
        message=message,
        checkpoint=checkpoint.restore(store.deltas).message,
        sealed=seal.message,
        stored=[one.parts for one in messages],
        title=conversation.title if conversation else "",
        prompts=[[*request.messages] for request in rig.speaker.asked],
        next_turn=[*history[1].provider],
        given=rig.given[0],
        claimed=str(chat.history[0]["content"]),
    )


async def _play(rig: Carrier, text: str) -> None:
    for number in count(1):
        job = Job(run_id=RUN_ID, order=Order(1, number, 1), mode="workflow", slice_ms=0)
        result = await rig.runner(NOTHING).run(job, asyncio.Event())
        if result.outcome == "ended":
            assert result.status == "completed"
            return
        if result.outcome == "parked":
            for body in (
                read(type="steer", text=text),
                read(type="deny", toolCallId=DENIED, reason=text),
                read(type="answer", toolCallId=ASKED, text=text),
            ):
                one = parse_input(body, "s1", LONGEST)
                await rig.store.put_input(RUN_ID, one.id, one.model_dump_json().encode())
