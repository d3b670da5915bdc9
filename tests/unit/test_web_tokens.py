"""An issuer's tokens: which let somebody in, which do not, and how its keys are kept."""

import base64
import json
from typing import Any

import jwt
import pytest

from api.identity import PERSON, Principal
from api.jwks import KEEP_MS, PAUSE_MS, STALE_MS, KeySet
from api.web_tokens import TOKEN_BYTES
from protocol.errors import TurnkeepError
from tests.issuer import MINUTE, Issuer
from tests.rig import NOW_MS, StillClock

NOW = NOW_MS // 1_000
LEEWAY = 30


async def refused(issuer: Issuer, token: str, **changed: Any) -> tuple[str, str]:
    with pytest.raises(TurnkeepError) as raised:
        await issuer.checked_by(StillClock(), **changed).principal(token, NOW_MS, "")
    return raised.value.kind, raised.value.details.get("code", "")


async def test_a_token_says_who_and_until_when() -> None:
    """REQ-W2: owner, tenant and tier are what the issuer signed."""
    issuer = Issuer()
    check = issuer.checked_by(StillClock(), tier_claim="plan")

    plain = await check.principal(issuer.token("ann@example.com"), NOW_MS, "here")
    tiered = await issuer.checked_by(StillClock(), tenant_claim="org", tier_claim="plan").principal(
        issuer.token(org="acme", plan="gold"), NOW_MS, "here"
    )

    until = (NOW + MINUTE + LEEWAY) * 1_000
    assert plain == Principal(owner="ann@example.com", tenant="here", rights=PERSON, expires_ms=until)
    assert tiered == Principal(owner="ann", tenant="acme", rights=PERSON, tier="gold", expires_ms=until)


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.test/"}, {"iss": None}, {"aud": "other"}, {"aud": None}, {"sub": None}, {"sub": ""},
        {"sub": "a" * 300}, {"sub": "a\x00b"}, {"exp": None}, {"exp": "soon"}, {"exp": True}, {"exp": 1e300},
        {"nbf": NOW + LEEWAY + 1}, {"tier": 7},
    ],
)  # fmt: skip
async def test_a_token_with_other_claims_lets_nobody_in(changed: dict[str, Any]) -> None:
    issuer = Issuer()

    assert await refused(issuer, issuer.token(**changed), tier_claim="tier") == ("unauthenticated", "invalid")


async def test_expired_is_told_apart_and_clocks_may_differ_a_little() -> None:
    """FR44, FR47"""
    issuer = Issuer()
    check = issuer.checked_by(StillClock())
    last = (NOW + MINUTE + LEEWAY) * 1_000 - 1

    assert (await check.principal(issuer.token(nbf=NOW + LEEWAY), last, "")).owner == "ann"
    assert await refused(issuer, issuer.token(exp=NOW - LEEWAY)) == ("unauthenticated", "expired")


async def test_a_token_that_should_name_a_tenant_and_does_not_lets_nobody_in() -> None:
    """REQ-V6: closed, not everybody's."""
    issuer = Issuer()

    assert await refused(issuer, issuer.token(), tenant_claim="org") == ("unauthenticated", "invalid")


async def test_other_signatures_let_nobody_in() -> None:
    """FR46: no algorithm, another one, a public key used as a shared secret, another issuer's key of the same name."""
    issuer = Issuer()
    head, body, signature = issuer.token().split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    public = json.dumps(issuer.public("k1"))
    forged = [
        f"{head}.{body}.", f"{head}.{body}.{signature[:-4]}AAAA", f"{head}.{body}", "a.b.c", "", "....", "tk_",
        jwt.encode(claims, "", algorithm="none", headers={"kid": "k1"}),
        jwt.encode(claims, public * 2, algorithm="HS256", headers={"kid": "k1"}),
        jwt.encode(claims, "", algorithm="none"),
        Issuer().token(),
        issuer.token() + "A" * TOKEN_BYTES,
        f"{base64.urlsafe_b64encode(b'[' * 5_000).decode()}.{body}.{signature}",
    ]  # fmt: skip

    assert {await refused(issuer, token) for token in forged} == {("unauthenticated", "invalid")}
    assert await refused(issuer, issuer.token(), algorithms=frozenset({"RS256"})) == ("unauthenticated", "invalid")


async def test_a_rotated_key_is_found_and_the_old_one_counts_no_more() -> None:
    issuer, clock = Issuer("old"), StillClock()
    check = issuer.checked_by(clock)
    before = issuer.token()
    await check.principal(before, NOW_MS, "")
    issuer.rotate("new")
    clock.now += PAUSE_MS

    assert (await check.principal(issuer.token(), NOW_MS, "")).owner == "ann"
    with pytest.raises(TurnkeepError):
        await check.principal(before, NOW_MS, "")
    assert issuer.asked == 2  # the second question was for a key nobody knew; the third would be within the pause


async def test_made_up_key_ids_do_not_reach_the_issuer() -> None:
    issuer, clock = Issuer(), StillClock()
    keys = KeySet(issuer.read, clock)

    assert [await keys.key(f"made-up-{n}") for n in range(100)] == [None] * 100
    assert issuer.asked == 1
    clock.now += PAUSE_MS
    assert [await keys.key(name) is None for name in ("made-up", "k1", "other")] == [True, False, True]
    assert issuer.asked == 2


async def test_keys_are_read_anew_and_outlive_an_issuer_that_is_away_for_a_while() -> None:
    """REQ-V6: past a day without an answer nobody is let in."""
    issuer, clock = Issuer(), StillClock()
    keys = KeySet(issuer.read, clock)
    await keys.key("k1")
    clock.now += KEEP_MS
    issuer.fault = OSError("away")
    assert await keys.key("k1") is not None
    clock.now += STALE_MS

    with pytest.raises(TurnkeepError) as raised:
        await keys.key("k1")

    assert (raised.value.kind, issuer.asked) == ("unavailable", 3)
    issuer.fault = None
    clock.now += PAUSE_MS
    assert await keys.key("k1") is not None


@pytest.mark.parametrize("fault", [OSError("no such file"), ValueError("status 500"), TimeoutError()])
async def test_without_keys_nobody_is_let_in(fault: Exception) -> None:
    issuer = Issuer()
    issuer.fault = fault

    assert await refused(issuer, issuer.token()) == ("unavailable", "")


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"keys":7}', b"\xff", b"<html>"])
async def test_what_is_no_set_of_keys_lets_nobody_in(content: bytes) -> None:
    async def read() -> bytes:
        return content

    with pytest.raises(TurnkeepError, match="cannot be checked"):
        await KeySet(read, StillClock()).key("k1")


async def test_symmetric_and_unknown_keys_of_a_set_are_left_out() -> None:
    issuer = Issuer("good")
    shared = {"kty": "oct", "k": "c2VjcmV0", "kid": "shared"}
    issuer.published += [
        shared,
        {"kty": "new", "kid": "new"},
        {"kid": "bare"},
        {"kty": "EC"},
        {"kty": "EC", "kid": "x"},
    ]
    keys = KeySet(issuer.read, StillClock())

    found = [name for name in ("good", "shared", "new", "bare", "x") if await keys.key(name)]

    assert found == ["good"]
