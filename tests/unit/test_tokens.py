import base64
import hashlib
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from itsdangerous import Signer

from frames.tokens import (
    LEEWAY_MS,
    TEXT_BYTES,
    HandleClaims,
    Handles,
    KeyRing,
    OwnerTags,
    ResumeClaims,
    ResumeTokens,
    Right,
    Sessions,
)
from protocol.errors import TurnkeepError

OLD, NEW = "o" * 32, "n" * 32
RING = KeyRing.of(NEW)
HANDLES, TOKENS, SESSIONS = Handles(RING), ResumeTokens(RING), Sessions(RING)
RUN = "0d0f4b1e-1111-4222-8333-123456789abc"
HANDLE = HandleClaims(run_id=RUN, owner="alice", sdk=7)
RESUME = ResumeClaims(run_id=RUN, owner="alice", sdk=6, rights=frozenset({"read", "stop"}), expires_ms=1_000_000)
MINTED_AT_IMPORT = TOKENS.mint(RESUME)

# Owners out of the characters that any format might use to keep fields apart.
OWNERS = st.text(st.sampled_from('.:|!,;="\\{}[]\n\0 eaü🌍') | st.characters(exclude_categories=["Cs"]), min_size=1)
RIGHTS: st.SearchStrategy[frozenset[Right]] = st.frozensets(st.sampled_from(("read", "stop")), min_size=1)
HANDLE_CLAIMS = st.builds(
    HandleClaims, run_id=st.uuids().map(str), owner=OWNERS.map(lambda owner: owner[:99]), sdk=st.sampled_from((5, 6, 7))
)
RESUME_CLAIMS = st.builds(
    ResumeClaims,
    run_id=st.sampled_from((RUN, "1" + RUN[1:])),
    owner=st.sampled_from(("a", "b", "a!b", '","sdk":5')) | OWNERS,
    sdk=st.sampled_from((5, 6, 7)),
    rights=RIGHTS,
    expires_ms=st.integers(0, 2**53 - 1),
)


def refusal(open_text: Callable[..., object], *given: object) -> tuple[str, dict[str, str]]:
    with pytest.raises(TurnkeepError) as caught:
        open_text(*given)
    return caught.value.kind, caught.value.details


UNKNOWN = ("not_found", dict[str, str]())
INVALID = ("unauthenticated", {"code": "invalid"})
EXPIRED = ("unauthenticated", {"code": "expired"})


@given(HANDLE_CLAIMS)
def test_a_handle_is_one_path_segment_with_a_dot_and_opens_to_its_claims(claims: HandleClaims) -> None:
    text = HANDLES.mint(claims)
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
    assert text.count(".") == 1
    assert (HANDLES.open(text), HANDLES.mint(claims)) == (claims, text)


@given(first=RESUME_CLAIMS, second=RESUME_CLAIMS)
def test_two_claims_have_one_text_only_if_they_are_equal(first: ResumeClaims, second: ResumeClaims) -> None:
    """FR46"""
    assert (TOKENS.mint(first) == TOKENS.mint(second)) == (first == second)
    assert TOKENS.open(TOKENS.mint(first), 0) == first


def variants(text: str) -> Iterator[str]:
    body, _, signature = text.partition(".")
    yield from ("", ".", body, signature, f"{body}.", f".{signature}", f"{signature}.{body}")
    yield from (text[:cut] for cut in range(len(text)))
    yield from (f"{text}=", f"{body}=.{signature}", f"{text}==", f" {text}", f"{text} ", f"{text}\n", f"{text}\0")
    yield from (f"{text}.x", f"{text}x", f"x{text}", f"{body}..{signature}", f"{body}.{body}.{signature}", text.upper())
    yield from (f"{text[:9]}{odd}{text[9:]}" for odd in (" ", "\n", "=", "+", "/", "ü", "\u0660", "\u200b", "\ud800"))
    yield from (text + "A" * 1_000_000, "A" * 1_000_000, f"{body}.{'A' * 43}", f"{body}.bm9uZQ")
    for place, letter in enumerate(text):
        yield f"{text[:place]}{'B' if letter != 'B' else 'C'}{text[place + 1 :]}"


def test_no_other_text_opens() -> None:
    """FR46"""
    handle, token, session = HANDLES.mint(HANDLE), TOKENS.mint(RESUME), SESSIONS.mint(bytes(16))
    assert {refusal(HANDLES.open, text)[0] for text in variants(handle)} == {"not_found"}
    assert all(refusal(TOKENS.open, text, 0) == INVALID for text in variants(token))
    assert {SESSIONS.open(text) for text in variants(session)} == {None}


@given(owner=OWNERS)
def test_no_other_spelling_of_the_same_bytes_opens(owner: str) -> None:
    """FR46: the last letter of a base64 text has unused bits, and the standard alphabet says the same bytes."""
    text = HANDLES.mint(HandleClaims(run_id=RUN, owner=owner[:99], sdk=7))
    body, _, signature = text.partition(".")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    others = [f"{body}.{signature[:-1]}{letter}" for letter in letters if letter != signature[-1]]
    others += [f"{body[:-1]}{letter}.{signature}" for letter in letters if letter != body[-1]]
    others += [text.replace("-", "+").replace("_", "/")] if set("-_") & set(text) else []
    assert [refusal(HANDLES.open, other) for other in others] == [UNKNOWN] * len(others)


def signed(purpose: str, payload: bytes, version: str = "v2") -> str:
    """A text with a good signature over any payload."""
    salt = f"turnkeep.{purpose}.{version}"
    body = base64.urlsafe_b64encode(payload).rstrip(b"=")
    return Signer(NEW, salt=salt, key_derivation="hmac", digest_method=hashlib.sha256).sign(body).decode()


def resume_payload(expires: str, rights: str = '["read"]') -> bytes:
    return f'{{"run_id":"{RUN}","owner":"alice","sdk":6,"rights":{rights},"expires_ms":{expires}}}'.encode()


def test_a_well_signed_text_opens_if_its_claims_are_canonical() -> None:
    assert TOKENS.open(signed("resume", resume_payload("7")), 0).expires_ms == 7


@pytest.mark.parametrize(
    "payload",
    [
        *map(resume_payload, ("NaN", "Infinity", "1e400", "-1", '"7"', "7.0", "1e3", "true", "null", "1e999999", "1" * 5_000)),
        *(resume_payload("7", rights) for rights in ("[]", '["stop","read"]', '["read","read"]', '["admin"]', '"read"')),
        resume_payload("7").replace(b",", b", "),
        resume_payload("7").replace(b"alice", b"\\u0061lice"),
        resume_payload("7").replace(b'"sdk":6', b'"sdk":8'),
        resume_payload("7").replace(b'"alice"', b'""'),
        resume_payload("7").replace(RUN.encode(), RUN.upper().encode()),
        resume_payload("7")[:-1] + b',"admin":true}',
        resume_payload("7")[:-1] + b',"expires_ms":9}',
        b"",
        b"null",
        b"[]",
        b"\xff",
    ],
)  # fmt: skip
def test_a_well_signed_text_with_odd_claims_does_not_open(payload: bytes) -> None:
    """FR46, FR47"""
    assert refusal(TOKENS.open, signed("resume", payload), 0) == INVALID


def test_a_text_of_another_purpose_or_version_does_not_open() -> None:
    """FR46"""
    payload = HANDLE.model_dump_json().encode()
    assert HANDLES.open(signed("handle", payload)) == HANDLE
    texts = [signed("resume", payload), signed("session", payload), signed("handle", payload, "v3")]
    assert [refusal(HANDLES.open, text) for text in texts] == [UNKNOWN] * 3
    assert refusal(TOKENS.open, HANDLES.mint(HANDLE), 0) == INVALID


def test_expiry_is_told_apart_and_has_a_leeway_for_clocks() -> None:
    """FR44, FR47"""
    token = TOKENS.mint(RESUME)
    last = RESUME.expires_ms + LEEWAY_MS
    assert [TOKENS.open(token, now) for now in (0, RESUME.expires_ms, last)] == [RESUME] * 3
    assert refusal(TOKENS.open, token, last + 1) == EXPIRED
    assert refusal(TOKENS.open, token + "x", last + 1) == INVALID


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/St_Johns", "Europe/Berlin"])
def test_a_zone_changes_nothing(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """FR47"""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        token = TOKENS.mint(RESUME)
        assert token == MINTED_AT_IMPORT
        assert refusal(TOKENS.open, token, RESUME.expires_ms + LEEWAY_MS + 1) == EXPIRED
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_new_secret_keeps_what_the_old_one_signed() -> None:
    before, both, after = Handles(KeyRing.of(OLD)), Handles(KeyRing.of(f"{NEW}, {OLD}")), Handles(KeyRing.of(NEW))
    assert both.open(before.mint(HANDLE)) == HANDLE
    assert both.mint(HANDLE) == after.mint(HANDLE)
    assert refusal(after.open, before.mint(HANDLE)) == UNKNOWN


@pytest.mark.parametrize("secrets", ["", "short", f"{NEW},", f"{NEW},short", f",{NEW}", " " * 40, "ü" * 15])
def test_a_weak_secret_is_refused_and_not_repeated(secrets: str) -> None:
    """FR46"""
    with pytest.raises(ValueError, match=r"at least 32 are needed") as caught:
        KeyRing.of(secrets)
    assert "short" not in str(caught.value)


def test_an_owner_too_long_for_a_header_is_refused_at_minting() -> None:
    with pytest.raises(ValueError, match=str(TEXT_BYTES)):
        HANDLES.mint(HandleClaims(run_id=RUN, owner="x" * TEXT_BYTES, sdk=7))


@given(st.binary(min_size=16, max_size=16))
def test_a_session_opens_to_its_random_bits(random: bytes) -> None:
    assert SESSIONS.open(SESSIONS.mint(random)) == random.hex()


def test_a_session_needs_128_bits() -> None:
    with pytest.raises(ValueError, match="id"):
        SESSIONS.mint(b"short")


@given(first=st.tuples(OWNERS | st.just(""), OWNERS), second=st.tuples(OWNERS | st.just(""), OWNERS))
def test_a_tag_is_one_owners_and_says_nothing_of_it(first: tuple[str, str], second: tuple[str, str]) -> None:
    """FR46, LAW-P5: an address with a handle in it may be logged."""
    tags = OwnerTags(RING)
    assert tags.matches(tags.of(*first), *second) == (first == second)
    assert len(tags.of(*first)) == 22


def test_a_tag_of_an_old_secret_is_still_its_owners() -> None:
    before, both, after = OwnerTags(KeyRing.of(OLD)), OwnerTags(KeyRing.of(f"{NEW},{OLD}")), OwnerTags(KeyRing.of(NEW))
    tag = before.of("", "alice")
    assert (both.matches(tag, "", "alice"), both.matches(tag, "", "eve"), after.matches(tag, "", "alice")) == (
        True, False, False,
    )  # fmt: skip


def test_a_text_of_version_1_opens_with_its_owners_tag() -> None:
    handle, resume = HANDLE.model_dump_json().encode(), RESUME.model_dump_json().encode()
    tag = OwnerTags(RING).of("", "alice")
    assert HANDLES.open(signed("handle", handle, "v1")) == HANDLE.model_copy(update={"owner": tag})  # [T5]
    assert TOKENS.open(signed("resume", resume, "v1"), 0) == RESUME.model_copy(update={"owner": tag})
    assert refusal(TOKENS.open, signed("handle", resume, "v1"), 0) == INVALID
