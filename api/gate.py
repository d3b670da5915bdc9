"""The ownership gate: the one way from what a request names to a run it may touch (LAW-P5).

    handle                    its owner is the caller
    run id and caller         the run's owner is the caller
    run id and resume token   the token names the run and has the right; somebody else beside it is refused

A token alone is enough, because its holder may be a client without cookies. Whatever else fails is the same `not_found`:
foreign, unknown, deleted and garbled look alike. Only a resume token says what is wrong with it (401, `code`), so that its
holder knows whether to ask for another: `GET /api/runs/{handle}` by the owner renews it.
"""

from dataclasses import dataclass, replace
from typing import Final

from api.callers import TOKEN_HEADER, Caller
from api.errors import not_found
from api.identity import Principal
from api.ports import ApiParts, Place
from checkpoints.port import RunView
from frames.projection import Sdk
from frames.tokens import LEEWAY_MS, HandleClaims, ResumeClaims, Right
from protocol.errors import TurnkeepError
from protocol.ids import RUN_ID
from records.values import Run

TRANSPORT_HEADER: Final = "x-turnkeep-transport"
RIGHTS: Final[frozenset[Right]] = frozenset({"read", "stop"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A run the caller may touch. `sdk` is what its frames are projected to, unless the request says otherwise.

    `owner` is the owner's tag, "" where nothing signs. `expires_ms`: when whoever asked is let in no longer.
    """

    run_id: str
    owner: str
    sdk: Sdk
    expires_ms: int | None = None


def gone(run: Run) -> TurnkeepError:
    """The run has ended and its log is not kept; where its answer is stored, if it is."""
    where = {"conversation_id": run.conversation_id, "message_id": run.message_id}
    return TurnkeepError("gone", "The run has ended and its log is not kept any more.", details=where)


class Gate:
    """Grants, and the headers that let a client come back with one."""

    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts

    async def run(self, caller: Caller, name: str, right: Right) -> Grant:
        """The run that a path segment names: a handle, or a run id. Raises TurnkeepError."""
        if "." in name:
            return self.by_handle(caller, name, right)
        if caller.known is None and caller.token is not None:
            return self.by_token(caller, name, right)
        row = await self.row(name.lower())
        principal = caller.require()
        if row is None or (row.tenant, row.owner) != (principal.tenant, principal.owner):
            raise not_found()
        return self.grant(principal, row.run_id)

    def grant(self, principal: Principal, run_id: str, sdk: Sdk | None = None) -> Grant:
        """The principal's own run."""
        tokens = self._parts.tokens
        tag = tokens.owners.of(principal.tenant, principal.owner) if tokens else ""
        return Grant(run_id=run_id, owner=tag, sdk=sdk or self._parts.default_sdk, expires_ms=principal.expires_ms)

    def by_handle(self, caller: Caller, handle: str, right: Right) -> Grant:
        """The run of a handle. Raises TurnkeepError."""
        if self._parts.tokens is None:
            raise not_found()
        try:
            claims = self._parts.tokens.handles.open(handle)
        except TurnkeepError:
            raise not_found() from None  # with the same words as everywhere
        if caller.known is None and caller.token is not None:
            return replace(self.by_token(caller, claims.run_id, right), sdk=claims.sdk)
        if not self._owns(caller, claims.owner):
            raise not_found()
        return Grant(run_id=claims.run_id, owner=claims.owner, sdk=claims.sdk, expires_ms=caller.require().expires_ms)

    def _owns(self, caller: Caller, tag: str) -> bool:
        tokens, principal = self._parts.tokens, caller.known
        return bool(tokens and principal and tokens.owners.matches(tag, principal.tenant, principal.owner))

    def by_token(self, caller: Caller, run_id: str, right: Right) -> Grant:
        """The run of a resume token. Raises TurnkeepError."""
        tokens = self._parts.tokens
        if tokens is None:
            raise not_found()
        if caller.token is None:
            raise TurnkeepError(
                "unauthenticated", f"The header {TOKEN_HEADER} is missing.", details={"code": "missing"}
            )
        now_ms = self._parts.clock.now_ms()
        claims = tokens.resume.open(caller.token, now_ms)
        if claims.run_id != run_id.lower() or right not in claims.rights:
            raise not_found()
        if caller.known is not None and not self._owns(caller, claims.owner):
            raise not_found()
        return Grant(
            run_id=claims.run_id, owner=claims.owner, sdk=claims.sdk, expires_ms=_end(claims.expires_ms, now_ms)
        )

    async def row(self, run_id: str) -> Run | None:
        """The run's row, unless its conversation was deleted; whose it is, is for the caller to compare."""
        return await self._parts.records.shown_run(run_id) if RUN_ID.fullmatch(run_id) else None

    async def find(self, run_id: str) -> tuple[Place, RunView] | None:
        """Where the run's log is, if anywhere. The memory place first: it answers without a round trip."""
        for place in (self._parts.memory, self._parts.primary):
            view = await place.store.view(run_id)
            if view is not None:
                return place, view
        return None

    async def locate(self, run_id: str) -> tuple[Place, RunView]:
        """Where the run's log is.

        Raises:
            TurnkeepError: `not_found`; `gone`, with the conversation and message to read instead, where the run ended
                and its log is not kept any more; `unavailable` where it lives and its log is not here (yet).
        """
        found = await self.find(run_id)
        if found is not None:
            return found
        row = await self.row(run_id)
        if row is None:
            raise not_found()
        if row.ended_ms is None:
            raise TurnkeepError("unavailable", "The run's log is not here at the moment.")
        raise gone(row)

    def headers(self, grant: Grant, place: Place | None, transport: str) -> dict[str, str]:
        """What a client needs to come back: the run's id, and where a secret signs and a log lasts, handle and token.

        `place` None says that there is no log to come back to. `transport` is told where it is known: who runs the turn may change, so the run's status has the last word.
        """
        tokens = self._parts.tokens
        named = {"x-chat-run-id": grant.run_id} | ({TRANSPORT_HEADER: transport} if transport else {})
        if tokens is None or place is None or not place.durable:
            return named
        expires_ms = self._parts.clock.now_ms() + tokens.resume_ms
        claims = ResumeClaims(
            run_id=grant.run_id, owner=grant.owner, sdk=grant.sdk, rights=RIGHTS, expires_ms=expires_ms
        )
        return named | {"x-workflow-run-id": self.handle(grant), TOKEN_HEADER: tokens.resume.mint(claims)}

    def handle(self, grant: Grant) -> str:
        """The run's handle, "" without a secret."""
        tokens = self._parts.tokens
        if tokens is None:
            return ""
        return tokens.handles.mint(HandleClaims(run_id=grant.run_id, owner=grant.owner, sdk=grant.sdk))


def _end(expires_ms: int, now_ms: int) -> int:
    """Until when a token lets somebody read.

    A stream ends when its token expires. The token that it brought when it opened may expire at that moment too, and has to open
    the next one: it does, until the leeway is over, and that stream brings one with all its time before it.
    """
    return expires_ms if now_ms < expires_ms else expires_ms + LEEWAY_MS
