"""Who calls: an anonymous session in a signed cookie, and perhaps a resume token.

A browser without a session gets one with whatever it asks for first, the page included: of two first requests at once, each
would otherwise mint its own, and the turn of the one that lost would be nobody's. Page and new turns renew the cookie,
which also signs it with the newest secret.
"""

from dataclasses import dataclass
from typing import Final, cast

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser

from api.ports import ApiParts

COOKIE: Final = "turnkeep_session"
COOKIE_SECONDS: Final = 30 * 86_400
SCOPE_KEY: Final = "turnkeep.caller"
TOKEN_HEADER: Final = "x-chat-resume-token"  # noqa: S105 - the header's name


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """`fresh` says that the request carried no session of ours, so that `owner` is nobody yet."""

    owner: str
    fresh: bool
    token: str | None


def identify(parts: ApiParts, headers: Headers) -> Caller:
    """Who sent these headers; a new session where they hold none."""
    cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
    known = parts.sessions.open(cookie)
    owner = known or parts.random_bytes(16).hex()
    return Caller(owner=owner, fresh=known is None, token=headers.get(TOKEN_HEADER))


def caller_of(request: Request) -> Caller:
    """Who sent a request that came through `application.Application`."""
    return cast("Caller", request.scope[SCOPE_KEY])


def cookie_of(parts: ApiParts, caller: Caller, scheme: str) -> str:
    """The Set-Cookie value that keeps the caller's session."""
    value = parts.sessions.mint(bytes.fromhex(caller.owner))
    secure = "; Secure" if scheme == "https" else ""
    return f"{COOKIE}={value}; Max-Age={COOKIE_SECONDS}; Path=/; HttpOnly; SameSite=Lax{secure}"


def session_thread(owner: str) -> str:
    """The conversation of a session that names none."""
    return f"session-{owner}"
