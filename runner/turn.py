"""The one door to a turn: claim it, load it or begin it, drive it (REQ-C5, REQ-D1)."""

import asyncio
from dataclasses import replace

from checkpoints.port import ClaimRequest, Grip, Loaded, Order, Refusal, Refused
from engine import checkpoint, turn
from engine.context import Cut
from engine.settle import failed
from engine.values import Advance, Plan
from protocol.checkpoint import LedgerEntry, Outcome, Seal, TurnState
from protocol.errors import ErrorKind, LostClaim, TurnkeepError
from protocol.frames import data
from protocol.turn import SliceResult, TurnRequest
from runner import settlement
from runner.choosing import chain_of, fallbacks_of
from runner.drive import Brief, Drive
from runner.history import history_of
from runner.hold import Hold
from runner.parts import Chosen, Parts
from runner.port import Job
from runner.rescue import end_from_log
from runner.restore import end_missing, over

INTERRUPTED = "The turn was interrupted and could not be finished. Send it again."
UNBOUNDED = 2**31  # claims: whoever only ends a run is not refused for the attempts that failed before


class Runner:
    """Runs turns over the given parts."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def run(self, job: Job, drain: asyncio.Event) -> SliceResult:
        hold = await self._claim(job, self._parts.settings.max_deaths)
        if isinstance(hold, Refused):
            return _refused(hold)
        try:
            return await self._decided(hold) or await self._drive(job, hold, drain, None)
        except LostClaim:
            return SliceResult(outcome="stale")

    async def fail(self, run_id: str, order: Order, kind: ErrorKind) -> SliceResult:
        """End a run that nobody can carry on: what was committed is kept, the reader gets a typed end (REQ-D8)."""
        job = Job(run_id=run_id, order=order, mode="workflow")
        hold = await self._claim(job, UNBOUNDED)
        if isinstance(hold, Refused):
            if hold.why is Refusal.MISSING:
                return await end_missing(self._parts, run_id)
            return _refused(hold)
        try:
            return await self._decided(hold) or await self._end(job, hold, failed(kind, INTERRUPTED))
        except LostClaim:
            return SliceResult(outcome="stale")

    async def _decided(self, hold: Hold) -> SliceResult | None:
        """The result of a run whose outcome stands already, in a seal or only in the records."""
        if hold.claimed.sealed is not None:
            return await self._finish(hold, hold.claimed.sealed)
        return await over(self._parts, hold) if hold.claimed.went_back else None

    async def _end(self, job: Job, hold: Hold, ending: Outcome) -> SliceResult:
        try:
            return await self._drive(job, hold, asyncio.Event(), ending)
        except TurnkeepError:
            raise  # the store is away, or the claim is lost
        except Exception:  # noqa: BLE001 - what cannot be read or carried on must end all the same (LAW-P1)
            self._parts.observer.trouble(job.run_id, "the run is ended from its log")
        async with hold.kept():
            return _ended(await end_from_log(self._parts, hold, await self._load(hold.grip), ending))

    async def _claim(self, job: Job, max_deaths: int) -> Hold | Refused:
        request = ClaimRequest(
            order=job.order,
            owner=self._parts.new_owner(),
            mode=job.mode,
            lease_ms=self._parts.settings.lease_ms,
            max_deaths=max_deaths,
        )
        begun = self._parts.clock.monotonic_ms()
        claimed = await self._parts.store.claim(job.run_id, request)
        if isinstance(claimed, Refused):
            return claimed
        self._parts.observer.claimed(claimed.grip, job.mode)
        await self._parts.fault("claimed")
        return Hold(self._parts, job, claimed, since_ms=begun)

    async def _finish(self, hold: Hold, sealed: bytes) -> SliceResult:
        """Somebody decided the outcome and died before all of it was written."""
        async with hold.kept():
            seal = Seal.model_validate_json(sealed)
            settled = await settlement.finish(self._parts, hold, seal, hold.claimed.next, sure=hold.sure)
        if settled is None:
            raise LostClaim  # nothing is left of the run but its row, which the sweeper ends
        return _ended(settled)

    async def _drive(self, job: Job, hold: Hold, drain: asyncio.Event, ending: Outcome | None) -> SliceResult:
        loaded = await self._load(hold.grip)
        request = TurnRequest.model_validate_json(loaded.request)
        assistant = self._parts.assistants[request.assistant]
        chosen: Chosen | None = None
        try:
            chosen = self._parts.choose(assistant, request)
        except TurnkeepError as error:
            ending = ending or failed(error.kind, error.message)
        state = checkpoint.restore(loaded.deltas) if loaded.deltas else None
        before = Cut(state.history[: state.history_start] if state else (), 0, 0)
        if state is None and ending is None:
            try:
                before = await history_of(self._parts, hold, request, assistant)
            except TurnkeepError as error:
                ending = failed(error.kind, error.message)
        chain = chain_of(chosen, before.messages) if chosen else ()
        brief = Brief(job=job, request=request, assistant=assistant, chain=chain, hold=hold, loaded=loaded)
        advance = _enter(brief, state, before)
        if ending is not None:
            advance = turn.end_at_once(advance, ending)
        return await Drive(self._parts, brief, state).go(advance, drain)

    async def _load(self, grip: Grip) -> Loaded:
        loaded = await self._parts.store.load(grip)
        if isinstance(loaded, Refusal):
            raise LostClaim
        return loaded


def _enter(brief: Brief, state: TurnState | None, before: Cut) -> Advance:
    plan, claimed, loaded = _plan(brief), brief.hold.claimed, brief.loaded
    if state is None:
        advance = turn.begin(plan, before.messages, left_out=before.left_out)
    else:
        ledger = {key: LedgerEntry.model_validate_json(entry) for key, entry in loaded.ledger.items()}
        found = turn.Found(
            attempt=claimed.grip.attempt,
            frames_beyond=claimed.next > loaded.index or claimed.went_back,
            went_back=claimed.went_back,
        )
        advance = turn.resume(plan, state, ledger, found)
    if claimed.went_back:
        # Indices that a reader may have passed already must not carry other frames than he saw (C9).
        voids = (data("void", None),) * max(0, claimed.reserved - claimed.next)
        advance = replace(advance, frames=(*voids, *advance.frames))
    return advance


def _plan(brief: Brief) -> Plan:
    request, assistant, limits = brief.request, brief.assistant, brief.assistant.effective_limits
    return Plan(
        run_id=request.run_id,
        conversation_id=request.conversation_id,
        message_id=request.message_id,
        assistant=assistant.name,
        model=brief.chain[0].model if brief.chain else "",
        fallbacks=fallbacks_of(brief.chain),
        tries=limits.tries,
        thinking=assistant.thinking,
        fast=assistant.fast,
        parallel_tools=assistant.parallel_tools,
        safe_tools=frozenset(tool.name for tool in assistant.tools if tool.repeat == "safe"),
        approval_tools=frozenset(tool.name for tool in assistant.tools if tool.approval),
        question_tools=frozenset(tool.name for tool in assistant.tools if tool.question),
        wait_ms=int(limits.wait_seconds * 1000),
        steps=limits.steps,
        run_ms=int(limits.run_seconds * 1000),
        run_tokens=limits.run_tokens,
        repeated_calls=limits.repeated_calls,
    )


def _ended(settled: settlement.Settled) -> SliceResult:
    seal = settled.seal
    return SliceResult(outcome="ended", status=seal.outcome.status, steps=seal.steps, frames=settled.frames)


def _refused(refused: Refused) -> SliceResult:
    match refused.why:
        case Refusal.BUSY:
            return SliceResult(outcome="busy", wait_ms=refused.wait_ms)
        case Refusal.ENDED:
            return SliceResult(outcome="ended", status=refused.status)
        case Refusal.EXHAUSTED:
            return SliceResult(outcome="exhausted")
        case Refusal.MISSING:
            return SliceResult(outcome="missing")
        case _:
            return SliceResult(outcome="stale")
