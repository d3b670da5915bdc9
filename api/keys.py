"""API keys: `tk_<prefix>_<secret>`. The prefix finds the row, the hash of the whole text opens it.

The secret is 256 random bits, so one round of SHA-256 hides it as well as a slow hash would, and costs no request anything.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from api.identity import Principal, nobody
from records.records import Records

MARK: Final = "tk_"
_KEY: Final = re.compile(r"tk_([0-9a-f]{16})_[A-Za-z0-9_-]{43}", re.ASCII)
_NOBODYS: Final = "0" * 64  # compared with where there is no such key, so that both take the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key at the only moment when its text is known."""

    text: str
    prefix: str
    digest: str


def new_key(random_bytes: Callable[[int], bytes]) -> NewKey:
    """A key out of fresh random bytes."""
    prefix = random_bytes(8).hex()
    secret = base64.urlsafe_b64encode(random_bytes(32)).rstrip(b"=").decode()
    text = f"{MARK}{prefix}_{secret}"
    return NewKey(text=text, prefix=prefix, digest=_digest(text))


async def principal_of_key(records: Records, text: str, now_ms: int) -> Principal:
    """Whom a key stands for. Raises TurnkeepError: `unauthenticated`; `unavailable` where the records do not answer."""
    shape = _KEY.fullmatch(text)
    if shape is None:
        raise nobody("invalid")
    key = await records.key(shape[1])
    opens = hmac.compare_digest(_digest(text), key.digest if key else _NOBODYS)
    if key is None or not opens or key.revoked_ms is not None:
        raise nobody("invalid")
    if key.expires_ms is not None and now_ms >= key.expires_ms:
        raise nobody("expired")
    return Principal(owner=key.owner, tenant=key.tenant, rights=key.rights, tier=key.tier, expires_ms=key.expires_ms)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
