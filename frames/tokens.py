"""Signed texts that a browser carries for us: the handle of a run, the resume token, the session cookie.

    <claims as JSON, base64url>.<HMAC-SHA256, base64url>

Rules
 - Each kind has a purpose, which is the salt of its key: a text of one purpose, or of another version, verifies for no other.
 - Claims are JSON in one spelling: two different claims never have the same bytes, whatever characters they hold.
 - Only the exact text that was minted opens. base64 has several spellings of the same bytes; the others are refused.
 - Signatures are compared in constant time. No message says what was wrong with a text, or repeats any of it.

Nothing here is secret from its holder, and addresses with handles in them end up in logs: so the owner is in a text only as a
tag, a keyed hash that says nothing to anybody else. Nothing here decides ownership either: `OwnerTags` tells whether a tag is
that of who asks. Texts of version 1 named the owner itself; they verify as long as their secret does.
"""

import hashlib
import hmac
import json
import re
from typing import Annotated, Final, Generic, Literal, TypeVar

from itsdangerous import BadSignature, Signer
from itsdangerous.encoding import base64_decode, base64_encode
from pydantic import BaseModel, ConfigDict, Field, field_serializer

from frames.projection import Sdk
from protocol.errors import TurnkeepError
from protocol.ids import RUN_ID

Right = Literal["read", "stop"]

SECRET_BYTES: Final = 32  # as many as the signature has; less would be the weakest part
TEXT_BYTES: Final = 4_096  # a header's worth; a longer text is refused before any of it is hashed
LEEWAY_MS: Final = 90_000  # how far the clocks of two of our processes may stand apart
VERSION: Final = 2  # of new texts that carry an owner's tag
TAG_BYTES: Final = 16

_TEXT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)


class KeyRing:
    """The secrets, newest first: the newest signs, all verify, so a secret can be replaced without ending anything."""

    def __init__(self, secrets: list[bytes]) -> None:
        for place, secret in enumerate(secrets, 1):
            if len(secret) < SECRET_BYTES:
                raise ValueError(
                    f"secret {place} of {len(secrets)} has {len(secret)} bytes, at least {SECRET_BYTES} are needed"
                )
        self.newest_first = tuple(secrets)

    @classmethod
    def of(cls, secrets: str) -> "KeyRing":
        """The ring from a comma-separated setting.

        Raises:
            ValueError: a secret is empty or shorter than SECRET_BYTES. The message holds none of it.
        """
        return cls([secret.strip().encode() for secret in secrets.split(",")])

    def signer(self, purpose: str, version: int) -> Signer:
        salt = f"turnkeep.{purpose}.v{version}".encode()
        oldest_first = self.newest_first[::-1]
        return Signer(oldest_first, salt=salt, key_derivation="hmac", digest_method=hashlib.sha256)


class OwnerTags:
    """What stands for an owner in a text that may be seen by others."""

    def __init__(self, ring: KeyRing) -> None:
        self._keys = [hmac.digest(secret, b"turnkeep.owner", hashlib.sha256) for secret in ring.newest_first]

    def of(self, tenant: str, owner: str) -> str:
        """The tag of an owner under the newest secret."""
        return _tag(self._keys[0], tenant, owner)

    def matches(self, tag: str, tenant: str, owner: str) -> bool:
        """Whether a tag, made under any secret of the ring, is this owner's. Takes the same time whatever it finds."""
        found = [hmac.compare_digest(tag.encode(), _tag(key, tenant, owner).encode()) for key in self._keys]
        return any(found)


def _tag(key: bytes, tenant: str, owner: str) -> str:
    named = json.dumps([tenant, owner]).encode()  # one spelling for each pair, whatever characters they hold
    return base64_encode(hmac.digest(key, named, hashlib.sha256)[:TAG_BYTES]).decode("ascii")


class Claims(BaseModel):
    """What a text says. Strict: "7" is no number and an unknown field no claim of ours."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


AnyClaims = TypeVar("AnyClaims", bound=Claims)


class Signed(Generic[AnyClaims]):
    """Texts of one purpose: claims in, text out, and back."""

    def __init__(self, ring: KeyRing, purpose: str, shape: type[AnyClaims], *, version: int = VERSION) -> None:
        self._signer = ring.signer(purpose, version)
        self._shape = shape

    def mint(self, claims: AnyClaims) -> str:
        """The text of these claims, the same whenever they are the same. Raises ValueError if it exceeds TEXT_BYTES."""
        text = self._signer.sign(base64_encode(claims.model_dump_json())).decode("ascii")
        if len(text) > TEXT_BYTES:
            raise ValueError(f"a signed text of {len(text)} bytes, at most {TEXT_BYTES} are allowed")
        return text

    def read(self, text: str) -> AnyClaims | None:
        """The claims of a text that `mint` gave, None for any other text."""
        if len(text) > TEXT_BYTES or not _TEXT.fullmatch(text):
            return None
        try:
            payload = base64_decode(self._signer.unsign(text))
            claims = self._shape.model_validate_json(payload)
        except (BadSignature, ValueError):
            return None
        # The same bytes in another base64 spelling, or the same values in another JSON, carry a valid signature too.
        signature = text.rpartition(".")[2]
        respelled = base64_encode(claims.model_dump_json()) + b"." + base64_encode(base64_decode(signature))
        return claims if respelled == text.encode("ascii") else None


RunIdClaim = Annotated[str, Field(pattern=f"^{RUN_ID.pattern}$")]
OwnerClaim = Annotated[str, Field(min_length=1)]


class RunClaims(Claims):
    """What every text about a run binds. `owner` is the owner's tag."""

    run_id: RunIdClaim
    owner: OwnerClaim
    sdk: Sdk  # kept here so that a reconnect keeps its projection (C19)


AnyRunClaims = TypeVar("AnyRunClaims", bound=RunClaims)


class RunTexts(Signed[AnyRunClaims]):
    """Signed texts about runs: new ones with the owner's tag, and those of version 1, read as if they had it."""

    def __init__(self, ring: KeyRing, purpose: str, shape: type[AnyRunClaims]) -> None:
        super().__init__(ring, purpose, shape)
        self._tags = OwnerTags(ring)
        self._first = Signed(ring, purpose, shape, version=1)

    def read(self, text: str) -> AnyRunClaims | None:
        claims = super().read(text)
        if claims is None and (old := self._first.read(text)) is not None:
            return old.model_copy(update={"owner": self._tags.of("", old.owner)})  # there was one tenant then
        return claims


class HandleClaims(RunClaims):
    """What a handle binds."""


class Handles:
    """What a client holds to come back. No time is in it: it is valid as long as its run is kept.

    The same claims give the same handle, so a tab that is refused as busy gets the handle that the other tab has.
    """

    def __init__(self, ring: KeyRing) -> None:
        self._signed = RunTexts(ring, "handle", HandleClaims)

    def mint(self, claims: HandleClaims) -> str:
        """One path segment that contains a dot. Raises ValueError where the owner is too long for it."""
        return self._signed.mint(claims)

    def open(self, text: str) -> HandleClaims:
        """The claims of a handle. Raises TurnkeepError `not_found` for any other text, as for a run that never was."""
        claims = self._signed.read(text)
        if claims is None:
            raise TurnkeepError("not_found", "There is no such run.")
        return claims


class ResumeClaims(RunClaims):
    """What a resume token binds. `expires_ms` is milliseconds since the epoch."""

    rights: Annotated[frozenset[Right], Field(min_length=1)]
    expires_ms: Annotated[int, Field(ge=0, lt=2**53)]

    @field_serializer("rights")
    def _in_one_order(self, rights: frozenset[Right]) -> list[Right]:
        return sorted(rights)


class ResumeTokens:
    """The right to read or stop a run for a while, sent as a header beside the run's id."""

    def __init__(self, ring: KeyRing) -> None:
        self._signed = RunTexts(ring, "resume", ResumeClaims)

    def mint(self, claims: ResumeClaims) -> str:
        """A token. Raises ValueError where the owner is too long for it."""
        return self._signed.mint(claims)

    def open(self, text: str, now_ms: int) -> ResumeClaims:
        """The claims of a token, up to LEEWAY_MS past its expiry.

        Raises:
            TurnkeepError: `unauthenticated`, with details {"code": "expired"} where a fresh token for the same run
                helps, or {"code": "invalid"} where the same text will never do.
        """
        claims = self._signed.read(text)
        if claims is None:
            raise TurnkeepError("unauthenticated", "The resume token is not valid.", details={"code": "invalid"})
        if now_ms > claims.expires_ms + LEEWAY_MS:
            raise TurnkeepError("unauthenticated", "The resume token has expired.", details={"code": "expired"})
        return claims


class SessionClaims(Claims):
    """Who an anonymous browser is: 128 random bits in hex."""

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class Sessions:
    """The value of the cookie `turnkeep_session`. Its age is the cookie's own."""

    def __init__(self, ring: KeyRing) -> None:
        self._signed = Signed(ring, "session", SessionClaims, version=1)

    def mint(self, random: bytes) -> str:
        """The cookie of a new session. `random` is 16 fresh random bytes. Raises ValueError for any other number."""
        return self._signed.mint(SessionClaims(id=random.hex()))

    def open(self, text: str) -> str | None:
        """The session's id, None for a cookie that is none of ours: its browser gets a new one."""
        claims = self._signed.read(text)
        return claims.id if claims else None
