"""How a turn comes into being: its row, its keys, its execution, in this order (C5).

The row decides: it is unique by run id and takes the conversation's only active place. Whatever fails after it, the same
request again finds the row and goes on from there; and if nobody asks again, the sweeper does.
"""

from dataclasses import dataclass, replace
from typing import Final, assert_never
from uuid import UUID, uuid5

from api.attachments import Attachments, file_id_of
from api.callers import Caller, session_thread
from api.chat_body import ChatBody
from api.errors import not_found
from api.gate import Gate, Grant
from api.identity import Principal, Resources
from api.ports import ApiParts, Place
from api.stopping import end_run
from assistants.definition import Assistant
from frames.projection import Sdk
from protocol.checkpoint import words_of
from protocol.errors import StoreUnavailable, TurnkeepError
from protocol.turn import Transport, TurnRequest, files_of
from records.turns import FIRST_SEQUENCE
from records.values import (
    Beginning,
    Begun,
    Busy,
    Key,
    Known,
    NotFound,
    Question,
    Reused,
    Run,
    Span,
    Stale,
    TooMany,
    TurnBegin,
)

_KEYS: Final = UUID("6d8f0a4e-5c1b-5f0e-9b57-2f3c9f1f7a10")  # the space of run ids that stand for a caller's keys


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn:
    """A run whose log is there. `known` says that it had begun before; `transport` is "" while nobody took it."""

    grant: Grant
    place: Place
    conversation_id: str
    known: bool
    transport: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTurn:
    """A run that had begun before and has ended, and whose log is not kept any more."""

    grant: Grant
    run: Run


class Turns:
    """Beginnings of turns."""

    def __init__(self, parts: ApiParts, gate: Gate) -> None:
        self._parts = parts
        self._gate = gate
        self._attachments = Attachments(parts)

    async def open(self, caller: Caller, body: ChatBody, sdk: Sdk) -> OpenTurn | PastTurn:
        """Begin the turn, or find the run that the same request began before.

        Raises:
            TurnkeepError: `rate_limited`; `conflict`, with the active run's handle, while the conversation is answering, and
                without one for a run id that another message has; `not_found` for a conversation, file or run id that is not
                the caller's, and for what the caller may not use; `invalid` or `too_large` for a file; `not_configured`;
                `unavailable`.
        """
        principal, assistant = caller.require(), self._assistant(body.assistant)
        self._parts.model_of(assistant)  # nothing is written for a turn that nobody could answer (REQ-A13)
        left = await self._may_ask(principal, Resources(assistant=assistant.name, conversation_id=body.conversation_id))
        found = {
            "files": await self._attachments.take((principal.tenant, principal.owner), body.files),
            "conversation_id": body.conversation_id or await self._thread(principal),
            "quota_left": left,
        }
        request = self._request(principal, body, assistant).model_copy(update=found)
        beginning = await self._beginning(request, body, assistant)
        grant = self._gate.grant(principal, request.run_id, sdk)
        match beginning:
            case Begun(sequence, question):
                history = body.history if sequence == FIRST_SEQUENCE else ()  # what is stored wins
                request = request.model_copy(update={"sequence": sequence, "stateless_history": history})
                return await self._execute(grant, request if question is None else _asking(request, question))
            case Known(run):
                return await self._again(replace(grant, run_id=run.run_id), request, run)
            case Busy(run_id):
                raise self._busy(replace(grant, run_id=run_id))
            case TooMany():
                raise TurnkeepError("rate_limited", "Too many of your turns are under way.")
            case Stale(head):
                raise TurnkeepError("conflict", "The conversation has gone on.", details={"head": head})
            case Reused():
                raise TurnkeepError("conflict", "This run id or key belongs to another request.")
            case NotFound():
                raise not_found()
        assert_never(beginning)

    async def _may_ask(self, principal: Principal, resources: Resources) -> int | None:
        """How many turns the owner has left in this window. Raises TurnkeepError: `rate_limited`, `not_found`."""
        who = f"{principal.tenant}\n{principal.owner}"
        left = await self._parts.rates.take(self._parts.quota.owner, "owner", who)
        if not await self._parts.may_use(principal, resources):
            raise not_found()  # as if there were none: a refusal would say that there is
        return left

    def _assistant(self, name: str | None) -> Assistant:
        assistant = self._parts.assistants.get(name or self._parts.default_assistant)
        if assistant is None:
            raise TurnkeepError("invalid", "There is no such assistant.")
        return assistant

    async def _thread(self, principal: Principal) -> str:
        """The conversation of a session that names none; another one where that was deleted."""
        stem = session_thread(principal.owner)
        deleted = await self._parts.records.deleted_threads(principal.tenant, principal.owner, stem)
        return f"{stem}-{deleted + 1}" if deleted else stem

    def _request(self, principal: Principal, body: ChatBody, assistant: Assistant) -> TurnRequest:
        run_id = body.run_id or _named(principal, body.request_key) or self._parts.new_id()
        plain = run_id.replace("-", "")
        return TurnRequest(
            run_id=run_id,
            conversation_id="",
            message_id=f"msg_{plain}",
            user_message_id=body.message_id or f"usr_{plain}",
            owner=principal.owner,
            tenant=principal.tenant,
            tier=principal.tier,
            assistant=assistant.name,
            text=body.text,
            has_attachments=bool(body.files),
            sequence=0,
            created_ms=self._parts.clock.now_ms(),
        )

    async def _beginning(self, request: TurnRequest, body: ChatBody, assistant: Assistant) -> Beginning:
        begin = self._begin(request, body, assistant)
        beginning = await self._parts.records.begin(begin)
        if isinstance(beginning, Busy) and body.interrupts:
            await end_run(self._parts, self._gate, beginning.run_id)
            beginning = await self._parts.records.begin(begin)
        return beginning

    def _begin(self, request: TurnRequest, body: ChatBody, assistant: Assistant) -> TurnBegin:
        return TurnBegin(
            key=Key(owner=request.owner, conversation_id=request.conversation_id, tenant=request.tenant),
            run_id=request.run_id,
            assistant=request.assistant,
            user_message_id=request.user_message_id,
            message_id=request.message_id,
            parts=(*request.files, {"type": "text", "text": request.text}),
            files=tuple(map(file_id_of, request.files)),
            now_ms=request.created_ms,
            create_if_missing=assistant.create_if_missing or body.conversation_id is None,
            most_active=self._parts.quota.active,
            by_key=body.request_key is not None,
            by_client=body.message_id is not None,
            revision=body.revision,
            expected_head=body.expected_head,
        )

    def _busy(self, active: Grant) -> TurnkeepError:
        details = {"run_id": active.run_id}
        if handle := self._gate.handle(active):
            details["handle"] = handle
        return TurnkeepError("conflict", "This conversation is answering already.", details=details)

    async def _execute(self, grant: Grant, request: TurnRequest) -> OpenTurn:
        place = await self._open_keys(request)
        transport: Transport = "inline"
        if place.durable:
            transport = await self._parts.dispatch.start(request)
        else:
            await self._parts.dispatch.start_memory(request)
        conversation_id = request.conversation_id
        return OpenTurn(grant=grant, place=place, conversation_id=conversation_id, known=False, transport=transport)

    async def _open_keys(self, request: TurnRequest) -> Place:
        written = request.model_dump_json().encode()
        try:
            await self._parts.primary.store.open(request.run_id, written)
        except StoreUnavailable:
            pass
        else:
            return self._parts.primary
        # Marked before it executes: the store may have taken the run after all, and nobody may claim it there (C6).
        if not await self._parts.records.mark_memory(request.run_id):
            raise TurnkeepError("unavailable", "The turn could not begin.")
        await self._parts.memory.store.open(request.run_id, written)
        return self._parts.memory

    async def _again(self, grant: Grant, request: TurnRequest, run: Run) -> OpenTurn | PastTurn:
        if await self._gate.row(run.run_id) is None:
            raise not_found()  # it was in a conversation that is deleted
        if run.status == "accepted" and not run.memory:
            # Nobody took it yet: perhaps a process died between row and dispatch. Both calls are harmless to repeat. Never on
            # the memory place: the first request may have opened it in the store.
            request = await self._as_stored(request, run)
            await self._parts.primary.store.open(run.run_id, request.model_dump_json().encode())
            await self._parts.dispatch.start(request)
        if run.ended_ms is not None and await self._gate.find(run.run_id) is None:
            return PastTurn(grant=grant, run=run)
        place, view = await self._gate.locate(run.run_id)
        conversation_id = run.conversation_id
        return OpenTurn(grant=grant, place=place, conversation_id=conversation_id, known=True, transport=view.mode)

    async def _as_stored(self, request: TurnRequest, run: Run) -> TurnRequest:
        """The request that began this run, whatever the one at hand says."""
        of_run = {
            name: getattr(run, name)
            for name in ("run_id", "sequence", "conversation_id", "assistant", "message_id", "user_message_id")
        }
        key = Key(owner=run.owner, conversation_id=run.conversation_id, tenant=run.tenant)
        stored = await self._parts.records.messages(key, Span(limit=1, past=run.sequence - 1))
        request = request.model_copy(update=of_run)
        return _asking(request, Question(id=stored[0].id, parts=stored[0].parts)) if stored else request


def _asking(request: TurnRequest, question: Question) -> TurnRequest:
    """The request with a question as it was stored."""
    files = files_of(question.parts)
    found = {
        "user_message_id": question.id,
        "text": words_of(question.parts),
        "files": files,
        "has_attachments": bool(files),
    }
    return request.model_copy(update=found)


def _named(principal: Principal, key: str | None) -> str | None:
    """The id of the run that the caller's own key stands for: nobody else's key comes to the same."""
    return None if key is None else str(uuid5(_KEYS, f"{principal.tenant}\0{principal.owner}\0{key}"))
