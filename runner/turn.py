"""The one door to a turn: claim it, load it or begin it, drive it (REQ-C5, REQ-D1)."""

import asyncio

from assistants.definition import Assistant
from checkpoints.port import Claimed, ClaimRequest, Grip, Loaded, Order, Refusal, Refused
from engine import checkpoint, turn
from engine.history import Said, reconstruct
from engine.settle import failed
from engine.values import Advance, Plan
from protocol.checkpoint import LedgerEntry, Outcome, Seal, TurnState
from protocol.errors import ErrorKind, LostClaim, TurnkeepError
from protocol.json import JsonObject
from protocol.turn import SliceResult, TurnRequest
from records.values import HistoryMessage
from runner import settlement
from runner.drive import Brief, Drive
from runner.parts import Chosen, Parts
from runner.port import Job

INTERRUPTED = "The turn was interrupted and could not be finished. Send it again."
UNBOUNDED = 2**31  # claims: whoever only ends a run is not refused for the attempts that failed before


class Runner:
    """Runs turns over the given parts."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def run(self, job: Job, drain: asyncio.Event) -> SliceResult:
        return await self._run(job, drain, max_claims=self._parts.settings.max_claims, ending=None)

    async def fail(self, run_id: str, order: Order, kind: ErrorKind) -> SliceResult:
        """End a run that nobody can carry on: what was committed is kept, the reader gets a typed end (REQ-D8)."""
        job = Job(run_id=run_id, order=order, mode="workflow")
        return await self._run(job, asyncio.Event(), max_claims=UNBOUNDED, ending=failed(kind, INTERRUPTED))

    async def _run(self, job: Job, drain: asyncio.Event, *, max_claims: int, ending: Outcome | None) -> SliceResult:
        claimed = await self._claim(job, max_claims)
        if isinstance(claimed, Refused):
            return _refused(claimed)
        try:
            if claimed.sealed is not None:
                return await self._finish(claimed, claimed.sealed)
            return await self._drive(job, claimed, drain, ending)
        except LostClaim:
            return SliceResult(outcome="stale")

    async def _claim(self, job: Job, max_claims: int) -> Claimed | Refused:
        request = ClaimRequest(
            order=job.order,
            owner=self._parts.new_owner(),
            mode=job.mode,
            lease_ms=self._parts.settings.lease_ms,
            max_claims=max_claims,
        )
        claimed = await self._parts.store.claim(job.run_id, request)
        if isinstance(claimed, Claimed):
            self._parts.observer.claimed(job.run_id, claimed.grip.attempt, job.mode)
            await self._parts.fault("claimed")
        return claimed

    async def _finish(self, claimed: Claimed, sealed: bytes) -> SliceResult:
        """Somebody decided the outcome and died before all of it was written."""
        seal = Seal.model_validate_json(sealed)
        settled = await settlement.finish(self._parts, claimed.grip, seal, claimed.next)
        return SliceResult(outcome="ended", status=seal.outcome.status, steps=seal.steps, frames=settled.frames)

    async def _drive(self, job: Job, claimed: Claimed, drain: asyncio.Event, ending: Outcome | None) -> SliceResult:
        loaded = await self._load(claimed.grip)
        request = TurnRequest.model_validate_json(loaded.request)
        assistant = self._parts.assistants[request.assistant]
        chosen: Chosen | None = None
        try:
            chosen = self._parts.choose(assistant, request)
        except TurnkeepError as error:
            ending = ending or failed(error.kind, error.message)
        brief = Brief(job=job, request=request, assistant=assistant, chosen=chosen, claimed=claimed)
        state = checkpoint.restore(loaded.deltas) if loaded.deltas else None
        advance = await self._enter(brief, loaded, state)
        if ending is not None:
            advance = turn.end_at_once(advance, ending)
        drive = Drive(self._parts, brief, state, sum(len(delta) for delta in loaded.deltas))
        return await drive.go(advance, drain)

    async def _load(self, grip: Grip) -> Loaded:
        loaded = await self._parts.store.load(grip)
        if isinstance(loaded, Refusal):
            raise LostClaim
        return loaded

    async def _enter(self, brief: Brief, loaded: Loaded, state: TurnState | None) -> Advance:
        plan = _plan(brief)
        if state is None:
            return turn.begin(plan, await self._history(brief.request, brief.assistant))
        ledger = {key: LedgerEntry.model_validate_json(entry) for key, entry in loaded.ledger.items()}
        attempt = brief.claimed.grip.attempt
        return turn.resume(plan, state, ledger, attempt=attempt, frames_beyond=brief.claimed.next > loaded.index)

    async def _history(self, request: TurnRequest, assistant: Assistant) -> tuple[JsonObject, ...]:
        turns = assistant.effective_limits.history_turns
        stored = await self._parts.records.history(request.tenant, request.conversation_id, request.sequence, turns)
        # What a client says was said counts only where we know nothing; the route hands it on for first messages alone.
        said = [_said(message) for message in stored] or [_claimed(entry) for entry in request.stateless_history]
        return reconstruct(said, request.text, turns=turns)


def _plan(brief: Brief) -> Plan:
    request, assistant, limits = brief.request, brief.assistant, brief.assistant.effective_limits
    return Plan(
        run_id=request.run_id,
        conversation_id=request.conversation_id,
        message_id=request.message_id,
        assistant=assistant.name,
        model=brief.chosen.model if brief.chosen else "",
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


def _said(message: HistoryMessage) -> Said:
    text = "".join(str(part["text"]) for part in message.parts if part["type"] == "text")
    return Said(message.role, text, message.provider)


def _claimed(entry: JsonObject) -> Said:
    return Said(str(entry["role"]), str(entry["content"]))


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
