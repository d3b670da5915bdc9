"""One invocation of a turn: from a won claim to its end or its hand-over.

One loop reads one mailbox; the engine says what follows; frames go out through one writer. A boundary is committed before
anything that depends on it begins: tools start after their intents are in the log, the next model call after the step is.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from assistants.definition import Assistant
from checkpoints.port import Loaded
from engine import calls, checkpoint, failing, slicing, step, turn, waiting
from engine.settle import STOPPED
from engine.values import Advance, CallModel, Park, RunTools, Settle, Turn
from protocol.checkpoint import ToolResult, TurnState
from protocol.errors import LostClaim, StoreUnavailable
from protocol.frames import data
from protocol.json import Json
from protocol.turn import SliceResult, TurnRequest
from runner import mailbox, outputs, settlement
from runner.afterwards import Afterwards
from runner.asking import Asking
from runner.attachments import Attachments
from runner.collect import observed
from runner.hold import Hold
from runner.inbox import Inbox
from runner.kept import Kept
from runner.meter import Meter
from runner.parts import Chosen, Parts
from runner.port import Job
from runner.work import NOT_RECORDED, Toolbox, Work, call_tool, hold_lease, note_running, when_draining
from runner.writer import Boundary, DoesNotFit, FrameWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What this invocation works on."""

    job: Job
    request: TurnRequest
    assistant: Assistant
    chain: tuple[Chosen, ...]  # whom to ask, in order; nobody: the turn ends at once
    hold: Hold
    loaded: Loaded


class Drive:
    """Drives one turn. `before` is the state the checkpoint holds already, None where there is none."""

    def __init__(self, parts: Parts, brief: Brief, before: TurnState | None) -> None:
        self._parts = parts
        self._brief = brief
        self._hold = brief.hold
        self._work = Work()
        self._meter = Meter(parts, brief.hold, Attachments(parts.records.files, brief.request))
        self._before = before
        self._checkpoint_bytes = sum(map(len, brief.loaded.deltas))
        self._begun_ms = parts.clock.monotonic_ms()
        self._first_step = before.step if before else 1
        self._elapsed_before = before.elapsed_ms if before else 0
        self._draining = False
        self._last: mailbox.Report | None = None
        self._writer = FrameWriter(
            parts,
            brief.hold,
            Kept(brief.hold.claimed, brief.loaded, before),
            # Bound to the work, not to this drive: a turn that is over goes at once, without a garbage collection.
            on_stop=partial(self._work.tell, mailbox.StopAsked()),
            on_trouble=partial(self._work.tell, mailbox.ClaimLost()),
        )
        self._asking = Asking(
            parts=parts, work=self._work, meter=self._meter, assistant=brief.assistant, chain=brief.chain
        )
        self._afterwards = Afterwards(parts, brief.request, brief.assistant)
        self._inbox = Inbox(parts, brief.hold, self._writer)
        tools = {tool.name: tool for tool in brief.assistant.tools}
        keep = partial(outputs.keep, parts, brief.hold)
        self._toolbox = Toolbox(tools=tools, request=brief.request, sure=self._writer.sure, keep=keep)

    async def go(self, advance: Advance, drain: asyncio.Event) -> SliceResult:
        """Run until the turn ends or hands over. Raises LostClaim or StoreUnavailable."""
        work, settings = self._work, self._parts.settings
        run_id = self._brief.request.run_id
        await self._parts.store.watch_stop(
            run_id, lambda: work.tell(mailbox.StopAsked()), lambda: work.tell(mailbox.InputPut())
        )
        try:
            work.start(hold_lease(work, self._hold, self._writer, settings.renew_ms))
            work.start(when_draining(drain, self._drain))
            work.start(note_running(self._parts, run_id, self._brief.job.mode))
            if self._before is not None:
                work.tell(mailbox.InputPut())  # what came while nobody listened
            work.tell_after(advance.turn.plan.run_ms - self._elapsed_before, mailbox.TimeUp())
            if self._hold.claimed.stop:
                advance = turn.end_at_once(advance, STOPPED)
            return await self._loop(advance)
        except asyncio.CancelledError:
            # The process ends before the step does. Tools let go first: the next attempt may call them again. Then the lease,
            # so that it need not wait for it to lapse.
            await work.close()
            with suppress(StoreUnavailable):
                await self._parts.store.release(self._hold.grip, None, self._brief.job.order)
            raise
        finally:
            self._afterwards.cancel()
            await self._parts.store.unwatch_stop(run_id)
            await work.close()
            await self._meter.settled()

    async def _loop(self, advance: Advance) -> SliceResult:
        now = advance.turn
        while True:
            if isinstance(advance.command, Settle):
                await self._work.end_call()
                await self._meter.settled()  # the records that end the run want to know what it cost
                advance = await self._afterwards.before_the_end(advance)
                settled = await settlement.settle(self._parts, self._hold, self._writer, advance)
                if settled is not None:
                    await self._afterwards.after_the_end(settled.seal)
                    return _ended(settled)
                # Somebody spoke before the end: the model's last event again, to a turn that knows of it.
                now = (await self._take_in(now)).turn
                advance = self._after(now)
                continue
            if advance.boundary:
                state = observed(self._parts, advance.turn.state)
                advance = replace(advance, turn=replace(advance.turn, state=state))
            try:
                recorded = await self._write(advance)
            except DoesNotFit:
                advance = turn.give_up(now, "too_large", "The answer is larger than a run may be.")
                continue
            now = advance.turn
            follow = await self._carry_out(advance, recorded=recorded)
            if isinstance(follow, SliceResult):
                return follow
            advance = follow

    async def _carry_out(self, advance: Advance, *, recorded: bool) -> Advance | SliceResult:
        """Do what is due and wait for what comes of it. A result: the run is left to others."""
        reason = await self._hand_over(advance) if advance.boundary else None
        if reason is not None:
            return await self._leave(advance.turn, reason)
        if isinstance(advance.command, Park):
            return await self._park(advance.turn)
        self._execute(advance, recorded=recorded)
        return await self._next(advance.turn) or await self._leave(advance.turn, "draining")

    async def _write(self, advance: Advance) -> bool:
        """False where what must not be lost could not be made durable."""
        if not advance.boundary and not advance.ledger:
            self._writer.put(advance.frames)
            await self._writer.room()
            return True
        boundary = None
        if advance.boundary:
            state = advance.turn.state
            delta = checkpoint.delta(self._before, state) if self._before else checkpoint.snapshot(state)
            self._checkpoint_bytes += len(delta)
            boundary = Boundary(delta, state)
        ledger = {key: entry.model_dump_json().encode() for key, entry in advance.ledger.items()}
        # What a call gave may be lost: the call is then told as one whose outcome is unknown. That it starts may not.
        durable = boundary is not None or isinstance(advance.command, RunTools)
        recorded = await self._writer.commit(advance.frames, boundary, ledger, durable=durable)
        if advance.boundary:
            self._before = advance.turn.state
            await self._parts.fault(f"boundary:{advance.turn.state.phase}")
        return recorded

    def _execute(self, advance: Advance, *, recorded: bool) -> None:
        command = advance.command
        if isinstance(command, CallModel):
            self._asking.start(advance.turn)
        elif isinstance(command, RunTools):
            for call in command.calls:
                if recorded or call.name in advance.turn.plan.safe_tools:
                    self._work.start(call_tool(self._work, self._toolbox, call))
                else:  # C6, C9: nobody after us would know that it was called
                    self._work.tell(mailbox.ToolDone(ToolResult(ordinal=call.ordinal, text=NOT_RECORDED, error=True)))

    async def _next(self, now: Turn) -> Advance | None:
        """What follows from the next event. None: the process is going away and the step is abandoned."""
        event = await self._work.mailbox.get()
        match event:
            case mailbox.StopAsked():
                return turn.stop(self._at(now))
            case mailbox.InputPut():
                return await self._take_in(now)
            case mailbox.TimeUp():
                return turn.run_out(self._at(now))
            case mailbox.DrainTimeUp():
                return None if now.state.phase == "open" else Advance(turn=now)
            case mailbox.ClaimLost():
                await self._writer.flush()  # raises what broke it
                raise LostClaim
            case _:
                if isinstance(event, mailbox.ModelBroke):
                    self._parts.observer.model_failed(now.state.run_id, event.error.kind)
                self._last = event
                return self._after(now)

    def _after(self, now: Turn) -> Advance:
        """What follows from the last report."""
        if self._last is None:
            raise RuntimeError("nothing has happened yet")
        return _follow(self._at(now), self._last, self._parts.chance())

    async def _take_in(self, now: Turn) -> Advance:
        """What follows from what lies in the inbox."""
        said = await self._inbox.unread(now.state.taken)
        return waiting.take_in(self._at(now), said) if said else Advance(turn=now)

    def _at(self, now: Turn) -> Turn:
        clock = self._parts.clock
        spent = clock.monotonic_ms() - self._begun_ms
        return turn.elapsed(now, self._elapsed_before + spent, clock.now_ms())

    def _drain(self) -> None:
        self._draining = True
        # Nothing is lost by leaving while the model is not asked yet: how often it was, and until when to wait, is committed.
        patience_ms = 0 if self._asking.waiting else self._parts.settings.abandon_ms
        self._work.tell_after(patience_ms, mailbox.DrainTimeUp())

    async def _hand_over(self, advance: Advance) -> slicing.Reason | None:
        budget = slicing.SliceBudget(
            slice_ms=self._brief.job.slice_ms, max_checkpoint_bytes=self._parts.settings.max_checkpoint_bytes
        )
        state = advance.turn.state
        use = slicing.SliceUse(
            steps=state.step - self._first_step,
            elapsed_ms=self._parts.clock.monotonic_ms() - self._begun_ms,
            checkpoint_bytes=self._checkpoint_bytes,
        )
        reason = slicing.hand_over(budget, use, state, draining=self._draining)
        if reason == "budget" and not await self._parts.reachable():
            return None  # nobody would take it up: this executor keeps the claim and goes on (C10)
        return reason

    async def _park(self, now: Turn) -> Advance | SliceResult:
        await self._writer.flush()
        if self._parts.clock.now_ms() >= now.state.deadline_ms:
            # Who answered is heard, however late we look.
            said = await self._inbox.unread(now.state.taken)
            return waiting.take_in(self._at(now), said) if said else waiting.expire(self._at(now))
        left = await self._inbox.park(now, self._brief.job.order)
        if isinstance(left, SliceResult):
            return left
        return waiting.take_in(self._at(now), left) if left else turn.stop(self._at(now))

    async def _leave(self, now: Turn, reason: slicing.Reason) -> SliceResult:
        await self._work.close()
        await self._meter.settled()
        await self._writer.flush()
        frames = self._writer.next_index
        result = SliceResult(outcome="handed_over", steps=now.state.step, frames=frames, reason=reason)
        order = self._brief.job.order
        await self._parts.store.release(self._hold.grip, result.model_dump_json().encode(), order)
        self._parts.observer.handed_over(self._brief.job.run_id, reason)
        return result


def _ended(settled: settlement.Settled) -> SliceResult:
    seal = settled.seal
    return SliceResult(outcome="ended", status=seal.outcome.status, steps=seal.steps, frames=settled.frames)


def _follow(now: Turn, event: mailbox.Report, chance: float) -> Advance:
    match event:
        case mailbox.FromModel(event=from_model):
            return step.model_event(now, from_model)
        case mailbox.ModelBroke(error=error):
            return failing.model_failed(now, error, chance)
        case mailbox.NoBudget():
            return turn.over_budget(now)
        case mailbox.ToolDone(result=result):
            return calls.tool_finished(now, result)
        case mailbox.ToolProgressed(ordinal=ordinal, progress=progress):
            return _progress(now, ordinal, progress)


def _progress(now: Turn, ordinal: int, progress: Json) -> Advance:
    if ordinal in now.results or ordinal >= len(now.state.calls):
        return Advance(turn=now)  # told after its result: nobody waits for it any more
    value: Json = {"toolCallId": now.state.calls[ordinal].id, "progress": progress}
    return Advance(turn=now, frames=(data("tool-progress", value),))
