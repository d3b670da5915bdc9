"""JSON Web Tokens of an issuer that the deployment trusts.

A token counts where its signature is by a key of the issuer's set under an allowed algorithm, issuer and audience are those of
the settings, and the time is between `nbf` and `exp`. `sub` is the owner. Tenant and tier come from the claims that the
settings name, and from nowhere else.
"""

from dataclasses import dataclass
from typing import Any, Final

import jwt

from api.identity import Principal, nobody
from api.jwks import KeySet

TOKEN_BYTES: Final = 8_192
OWNER_CHARACTERS: Final = 255
_OPTIONS: Final[jwt.types.Options] = {
    "require": ["exp", "iss", "aud", "sub"],
    "enforce_minimum_key_length": True,
    # By our clock, below: a stream that the token opened ends by the same one.
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WebTokens:
    """How tokens are checked. `leeway_ms`: how far the issuer's clock and ours may stand apart."""

    keys: KeySet
    issuer: str
    audience: str
    algorithms: frozenset[str]
    leeway_ms: int = 30_000
    tenant_claim: str = ""
    tier_claim: str = ""

    async def principal(self, text: str, now_ms: int, tenant: str) -> Principal:
        """Whom a token stands for. `tenant` is theirs where no claim says one.

        Raises:
            TurnkeepError: `unauthenticated`; `unavailable` where the issuer's keys cannot be had.
        """
        claims = await self._claims(text)
        expires_ms = _time(claims["exp"]) + self.leeway_ms
        if "nbf" in claims and now_ms + self.leeway_ms < _time(claims["nbf"]):
            raise nobody("invalid")
        if now_ms >= expires_ms:
            raise nobody("expired")
        return Principal(
            owner=_name(claims["sub"]),
            tenant=_name(claims.get(self.tenant_claim)) if self.tenant_claim else tenant,
            tier=_name(claims[self.tier_claim]) if self.tier_claim in claims else "",
            expires_ms=expires_ms,
        )

    async def _claims(self, text: str) -> dict[str, Any]:
        if len(text) > TOKEN_BYTES:
            raise nobody("invalid")
        try:
            header = jwt.get_unverified_header(text)
            # Before any key is looked for: `none`, and a public key used as a shared secret, end here.
            if header.get("alg") not in self.algorithms or not isinstance(header.get("kid"), str):
                raise nobody("invalid")
            key = await self.keys.key(header["kid"])
            if key is None:
                raise nobody("invalid")
            return jwt.decode(
                text,
                key,
                algorithms=sorted(self.algorithms),
                audience=self.audience,
                issuer=self.issuer,
                options=_OPTIONS,
            )
        except (jwt.PyJWTError, ValueError, RecursionError):
            raise nobody("invalid") from None  # not chained: it may quote the token


def _time(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**43:
        raise nobody("invalid")
    return int(value * 1_000)


def _name(value: object) -> str:
    """A claim that names somebody or something. A tenant that a token should say and does not is nobody's (REQ-V6)."""
    if not isinstance(value, str) or not 0 < len(value) <= OWNER_CHARACTERS or not value.isprintable():
        raise nobody("invalid")
    return value
