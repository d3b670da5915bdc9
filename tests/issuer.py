"""An issuer of JSON Web Tokens: its keys, the set it publishes, and tokens signed with any of them."""

import json
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from api.jwks import KeySet
from api.web_tokens import WebTokens
from tests.rig import NOW_MS, StillClock

ISSUER = "https://issuer.test/"
AUDIENCE = "turnkeep"
MINUTE = 60


class Issuer:
    """Signs with ES256. `asked` counts how often its keys were read; `fault` is raised there instead."""

    def __init__(self, *key_ids: str) -> None:
        self.asked = 0
        self.fault: Exception | None = None
        self._keys = {key_id: ec.generate_private_key(ec.SECP256R1()) for key_id in key_ids or ("k1",)}
        self.published: list[dict[str, Any]] = [self.public(key_id) for key_id in self._keys]

    def public(self, key_id: str) -> dict[str, Any]:
        shown = ECAlgorithm.to_jwk(self._keys[key_id].public_key(), as_dict=True)
        return {**shown, "kid": key_id, "use": "sig", "alg": "ES256"}

    def rotate(self, key_id: str) -> None:
        """Sign with a new key, and publish it instead of all others."""
        self._keys = {key_id: ec.generate_private_key(ec.SECP256R1())}
        self.published = [self.public(key_id)]

    async def read(self) -> bytes:
        self.asked += 1
        if self.fault is not None:
            raise self.fault
        return json.dumps({"keys": self.published}).encode()

    def token(self, subject: str = "ann", *, key_id: str = "", **changed: Any) -> str:
        """A token of a minute. `changed` claims; None leaves one out."""
        key_id = key_id or next(iter(self._keys))
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "exp": NOW_MS // 1_000 + MINUTE, **changed}
        said = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(said, self._keys[key_id], algorithm="ES256", headers={"kid": key_id})

    def checked_by(self, clock: StillClock, **changed: Any) -> WebTokens:
        known: dict[str, Any] = {"issuer": ISSUER, "audience": AUDIENCE, "algorithms": frozenset({"ES256"}), **changed}
        return WebTokens(keys=KeySet(self.read, clock), **known)
