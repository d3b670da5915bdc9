"""Who acts: one frozen value, whatever showed who it is.

Owner, tenant, rights and tier come from the server's own records or from what an issuer signed, never from a request's body,
query or path.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal

from protocol.errors import TurnkeepError

KeyRight = Literal["read", "write", "act_for"]
PERSON: Final[frozenset[str]] = frozenset({"read", "write"})  # what somebody may do with what is theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """`tier` chooses among models and quotas. `expires_ms`: when this stops being so, by the wall clock."""

    owner: str
    tenant: str = ""
    rights: frozenset[str] = PERSON
    tier: str = ""
    expires_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a turn wants to use, or what may be offered to it. `conversation_id` None: none is named."""

    assistant: str
    conversation_id: str | None


MayUse = Callable[[Principal, Resources], Awaitable[bool]]


async def everything(_: Principal, __: Resources) -> bool:
    """Everybody may use whatever is there."""
    return True


def nobody(code: str) -> TurnkeepError:
    """Who asks is not known. `code`: `missing`, `invalid`, `expired` (a fresh one helps), or `act_for`."""
    messages = {
        "missing": "This address needs to know who asks.",
        "expired": "What says who you are has expired.",
        "act_for": "You cannot act for somebody else.",
    }
    message = messages.get(code, "What says who you are is not valid.")
    return TurnkeepError("unauthenticated", message, details={"code": code})
