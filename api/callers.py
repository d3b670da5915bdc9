"""Who calls: the one way from a request's headers to a principal.

    Authorization: Bearer tk_…   an API key; with the right `act_for` it may name the owner in `x-turnkeep-owner`
    Authorization: Bearer …      a JSON Web Token of the deployment's issuer
    Cookie: turnkeep_session     an anonymous session, signed; its random id is the owner
    x-chat-resume-token          nobody in particular, with a right on one run (api/gate.py)

What is sent counts or is refused: a key that is not valid is never an anonymous session instead, and a browser's session beside
a bearer is not looked at. Which of these are admitted is a setting.

A browser without a session gets one with whatever it asks for first, the page included: of two first requests at once, each
would otherwise mint its own, and the turn of the one that lost would be nobody's. Page and new turns renew the cookie,
which also signs it with the newest secret.
"""

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Final, cast

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser

from api.identity import Principal, nobody
from api.keys import MARK, principal_of_key
from api.ports import ApiParts

COOKIE: Final = "turnkeep_session"
COOKIE_SECONDS: Final = 30 * 86_400
SCOPE_KEY: Final = "turnkeep.caller"
TOKEN_HEADER: Final = "x-chat-resume-token"  # noqa: S105 - the header's name
OWNER_HEADER: Final = "x-turnkeep-owner"

_OWNER: Final = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
_SESSION: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """`principal` None: nobody, where sessions are not admitted. `session`: by cookie, as browsers do; `fresh`: a new one."""

    principal: Principal | None
    session: bool = False
    fresh: bool = False
    token: str | None = None

    def require(self) -> Principal:
        """Who it is. Raises TurnkeepError: `unauthenticated`."""
        if self.principal is None:
            raise nobody("missing")
        return self.principal

    @property
    def known(self) -> Principal | None:
        """Who it is, if that was so before this request: a session that begins now owns nothing yet."""
        return None if self.fresh else self.principal


async def identify(parts: ApiParts, headers: Headers) -> Caller:
    """Who sent these headers. Raises TurnkeepError: `unauthenticated`, `unavailable`."""
    token = headers.get(TOKEN_HEADER)
    given = headers.getlist("authorization")
    if given:
        principal = await _bearer(parts, given)
        return Caller(principal=_acting(principal, headers), token=token)
    if OWNER_HEADER in headers:
        raise nobody("act_for")
    return replace(visitor(parts, headers), token=token)


def visitor(parts: ApiParts, headers: Headers) -> Caller:
    """The session of these headers; a new one where they hold none, nobody where none is admitted."""
    if not parts.admitted.sessions:
        return Caller(principal=None)
    known = parts.sessions.open(cookie_parser(headers.get("cookie", "")).get(COOKIE, ""))
    owner = known or parts.random_bytes(16).hex()
    return Caller(principal=Principal(owner=owner, tenant=parts.tenant), session=True, fresh=known is None)


async def _bearer(parts: ApiParts, given: list[str]) -> Principal:
    scheme, _, text = given[0].partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer":
        raise nobody("invalid")
    now_ms = parts.clock.now_ms()
    if text.startswith(MARK):
        if not parts.admitted.keys:
            raise nobody("invalid")
        return await principal_of_key(parts.records, text, now_ms)
    if parts.admitted.web_tokens is None:
        raise nobody("invalid")
    return await parts.admitted.web_tokens.principal(text, now_ms, parts.tenant)


def _acting(principal: Principal, headers: Headers) -> Principal:
    named = headers.getlist(OWNER_HEADER)
    if not named:
        return principal
    if "act_for" not in principal.rights or len(named) > 1 or _OWNER.fullmatch(named[0]) is None:
        raise nobody("act_for")
    return replace(principal, owner=named[0])


def caller_of(request: Request) -> Caller:
    """Who sent a request that came through `application.Application`."""
    return cast("Caller", request.scope[SCOPE_KEY])


def principal_of(request: Request) -> Principal:
    """Who sent it. Raises TurnkeepError: `unauthenticated`."""
    return caller_of(request).require()


def cookie_of(parts: ApiParts, owner: str, scheme: str) -> str:
    """The Set-Cookie value that keeps a session."""
    value = parts.sessions.mint(bytes.fromhex(owner))
    secure = "; Secure" if scheme == "https" else ""
    return f"{COOKIE}={value}; Max-Age={COOKIE_SECONDS}; Path=/; HttpOnly; SameSite=Lax{secure}"


def session_thread(owner: str) -> str:
    """The conversation of an owner who names none."""
    if _SESSION.fullmatch(owner):
        return f"session-{owner}"
    return f"session-{hashlib.sha256(owner.encode()).hexdigest()[:32]}"  # a conversation id takes no "@"
