"""What runs beside a turn: the model call, the tools, the lease, the timers. All of it speaks through the mailbox."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from checkpoints.port import Appended, Refusal
from protocol.checkpoint import ToolCall
from protocol.errors import LostClaim, ProviderError, StoreUnavailable, TurnkeepError
from protocol.json import Json
from protocol.model import ModelEvent, Stopped
from protocol.turn import Transport, TurnRequest
from runner.hold import Hold
from runner.mailbox import ClaimLost, Event, FromModel, ModelBroke, NoBudget, ToolDone, ToolProgressed
from runner.meter import OverBudget
from runner.parts import Parts
from runner.writer import FrameWriter
from tools.declare import Call, Tool
from tools.execute import execute

CLOSING_SECONDS = 1.0  # for a cancelled model call to close its connection; the end of a turn does not wait for more
BROKE_OFF = ProviderError("upstream", "The model's answer broke off.")
NOT_RECORDED = (
    "Not called: this call could not be recorded safely just now, and it must not be made twice. Nothing has happened yet; "
    "it may be tried again later."
)


class Work:
    """The running tasks of one invocation. `mailbox` gets what they find out."""

    def __init__(self) -> None:
        self.mailbox: asyncio.Queue[Event] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: list[asyncio.TimerHandle] = []
        self._call: asyncio.Task[None] | None = None

    def tell(self, event: Event) -> None:
        self.mailbox.put_nowait(event)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        _ = self._task(work)

    def ask(self, call: Coroutine[Any, Any, None]) -> None:
        """Start the turn's model call, of which there is one at a time."""
        self._call = self._task(call)

    async def end_call(self) -> None:
        """No model call goes on behind the end of its turn."""
        if self._call is not None:
            self._call.cancel()
            await asyncio.wait({self._call}, timeout=CLOSING_SECONDS)

    def _task(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def tell_after(self, milliseconds: float, event: Event) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(max(0.0, milliseconds) / 1000, self.tell, event))

    async def close(self) -> None:
        """Cancel what still runs and wait until it has let go."""
        for timer in self._timers:
            timer.cancel()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def call_model(work: Work, events: AsyncIterator[ModelEvent]) -> None:
    """One model call, event by event. However it fails, the turn is told in one way."""
    ended = False
    try:
        async for event in events:
            ended = isinstance(event, Stopped)
            work.tell(FromModel(event))
    except OverBudget:
        work.tell(NoBudget())
    except ProviderError as error:
        work.tell(ModelBroke(error))
    except Exception:  # noqa: BLE001 - whatever a provider's library raises, the reader gets a typed end, not a silence
        work.tell(ModelBroke(ProviderError("upstream", "The model call failed.")))
    else:
        if not ended:
            work.tell(ModelBroke(BROKE_OFF))


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools of a turn. `sure` is awaited before each call: it raises where the run may be somebody else's (C14).

    `keep` keeps an output, of a call and of so many bytes, that no frame can hold, and says whether it did.
    """

    tools: Mapping[str, Tool]
    request: TurnRequest
    sure: Callable[[], Awaitable[None]]
    keep: Callable[[str, Json, int], Awaitable[bool]]


async def call_tool(work: Work, toolbox: Toolbox, call: ToolCall) -> None:
    """One tool call. Failures are results."""

    def progress(value: Json) -> None:
        work.tell(ToolProgressed(call.ordinal, value))

    request = toolbox.request
    context = Call(
        run_id=request.run_id,
        conversation_id=request.conversation_id,
        owner=request.owner,
        key=f"{request.run_id}:{call.step}.{call.ordinal}",
        progress=progress,
    )
    try:
        await toolbox.sure()
    except (LostClaim, StoreUnavailable):
        work.tell(ClaimLost())
        return
    work.tell(ToolDone(await execute(toolbox.tools, call, context, toolbox.keep)))


async def hold_lease(work: Work, hold: Hold, writer: FrameWriter, renew_ms: int) -> None:
    """Renew the lease until somebody else has it; see a stop, and that the store lost something, on the way."""
    while True:
        await asyncio.sleep(renew_ms / 1000)
        try:
            reply = await hold.renew()
        except StoreUnavailable:
            continue  # the writer decides when to give up; a renewal that arrives late still succeeds if nobody claimed
        if isinstance(reply, Appended):
            writer.renewed(reply)
        elif reply is Refusal.MISSING:
            writer.doubt()
        else:
            work.tell(ClaimLost())
            return


async def note_running(parts: Parts, run_id: str, mode: Transport) -> None:
    """Tell the records who runs it. Beside the turn: the first frame does not wait for a database."""
    try:
        await parts.records.running(run_id, mode, parts.clock.now_ms())
    except TurnkeepError:
        parts.observer.trouble(run_id, "the records do not say who runs it")


async def when_draining(drain: asyncio.Event, then: Callable[[], None]) -> None:
    """Tell once that the process is going away."""
    await drain.wait()
    then()
