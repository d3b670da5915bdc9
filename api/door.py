"""What a request passes before any route sees it: how often, who, from which site, with which right.

Everything under /api/ needs somebody (REQ-W1): a route that is added there is closed before anybody thinks of it. The page, the
health checks and the API's description are for everybody; /internal/* has a token of its own (api/operations.py).

Refused in this order, and all of it is over before the body is read (REQ-A12).
"""

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from api.callers import TOKEN_HEADER, Caller, identify, visitor
from api.errors import not_found
from api.identity import nobody
from api.ports import ApiParts
from api.rates import address_of
from protocol.errors import TurnkeepError

WRITING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_COUNTED: Final = ("/api/", "/internal/")

EXPOSED: Final = (
    "x-chat-run-id",
    "x-workflow-run-id",
    TOKEN_HEADER,
    "x-turnkeep-transport",
    "x-turnkeep-start-index",
    "x-workflow-stream-tail-index",
    "x-vercel-ai-ui-message-stream",
    "retry-after",
)
ACCEPTED: Final = ("authorization", "content-type", "idempotency-key", "last-event-id", TOKEN_HEADER)
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_PREFLIGHT: Final = {
    "access-control-allow-methods": ", ".join(METHODS),
    "access-control-allow-headers": ", ".join(ACCEPTED),  # never the owner's: a browser acts for nobody else
    "access-control-max-age": "600",
}


class Door:
    """Lets requests in."""

    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts

    async def admit(self, scope: Scope) -> Caller:
        """Who may go on with this request.

        Raises:
            TurnkeepError: `rate_limited`, `unauthenticated`, `invalid` for another site's page, `not_found` without the
                right, `unavailable` where that cannot be told.
        """
        headers, path = Headers(scope=scope), scope["path"]
        if path.startswith(_COUNTED):
            await self._parts.rates.take(self._parts.quota.address, "address", address_of(scope))
        if not path.startswith("/api/"):
            return visitor(self._parts, headers)
        caller = await identify(self._parts, headers)
        if "authorization" not in headers:
            self._refuse_other_sites(scope["method"], headers)
        if caller.principal is None and caller.token is None:
            raise nobody("missing")
        needed = "write" if scope["method"] in WRITING else "read"
        if caller.principal is not None and needed not in caller.principal.rights:
            raise not_found()
        return caller

    def shared_with(self, scope: Scope) -> dict[str, str]:
        """The headers that let a page of an admitted site read the answer."""
        origin = Headers(scope=scope).get("origin", "")
        origins = self._parts.admitted.origins
        if not origins or not scope["path"].startswith("/api/"):
            return {}
        if origin not in origins:
            return {"vary": "origin"}
        return {
            "vary": "origin",
            "access-control-allow-origin": origin,
            "access-control-allow-credentials": "true",
            "access-control-expose-headers": ", ".join(EXPOSED),
        }

    def preflight(self, scope: Scope) -> dict[str, str] | None:
        """What is told besides to a browser that asks whether it may ask; None where that is not asked, or it may not."""
        headers = Headers(scope=scope)
        if scope["method"] != "OPTIONS" or "access-control-request-method" not in headers:
            return None
        return _PREFLIGHT if "access-control-allow-origin" in self.shared_with(scope) else None

    def _refuse_other_sites(self, method: str, headers: Headers) -> None:
        # Some clients post JSON as text/plain, so we take it; that is a request which any site may make a browser send without
        # asking us first, with the cookie where that site is our neighbour. Nothing else than a browser says where it is.
        if method not in WRITING:
            return
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin in self._parts.admitted.origins:
            return
        if site is not None:
            ours = site in ("none", "same-origin")
        else:
            ours = origin is None or urlsplit(origin).netloc == headers.get("host", "")
        if not ours:
            raise TurnkeepError("invalid", "A page of another site cannot do this.")
