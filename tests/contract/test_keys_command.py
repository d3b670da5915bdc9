"""`python -m app keys`, and where an issuer's keys are read from."""

from argparse import ArgumentParser
from pathlib import Path

import pytest

from api.identity import PERSON, Principal
from api.keys import principal_of_key
from app.commands import keys
from app.compose_identity import FETCH_BYTES, admitted, quota, source
from app.settings import Settings
from app.settings_reading import RefusedSettings
from protocol.errors import TurnkeepError
from protocol.json import JsonObject
from records.records import Records
from tests.loopback import Answer, Loopback, whole
from tests.rig import NOW_MS, StillClock

DAY_MS = 86_400_000


async def said(records: Records, *words: str) -> list[JsonObject]:
    parser = ArgumentParser()
    keys.configure(parser)
    return await keys.carry_out(records, parser.parse_args(words), tenant="here", now_ms=NOW_MS)


async def test_a_key_is_printed_once_and_kept_as_a_hash() -> None:
    """REQ-W3"""
    async with await Records.in_memory() as records:
        made = (await said(records, "create", "shop", "--owner", "ann", "--tier", "gold", "--days", "1"))[0]
        listed = await said(records, "list")
        kept = await records.key(str(made["prefix"]))

        secret = str(made["key"])
        assert {**listed[0], "key": secret} == made
        assert secret not in str(listed)
        assert secret.rpartition("_")[2] not in str(kept)
        assert await principal_of_key(records, secret, NOW_MS) == Principal(
            owner="ann", tenant="here", rights=PERSON, tier="gold", expires_ms=NOW_MS + DAY_MS
        )


async def test_a_revoked_key_opens_nothing() -> None:
    async with await Records.in_memory() as records:
        made = (await said(records, "create", "shop", "--owner", "ann", "--right", "act_for", "--tenant", ""))[0]
        assert (await principal_of_key(records, str(made["key"]), NOW_MS)).rights == {"act_for"}

        revoked = await said(records, "revoke", str(made["prefix"]))

        assert revoked == [{"prefix": made["prefix"], "revoked": True}]
        with pytest.raises(TurnkeepError, match="not valid"):
            await principal_of_key(records, str(made["key"]), NOW_MS)
        with pytest.raises(TurnkeepError, match="no key of this prefix"):
            await said(records, "revoke", "nope")


async def test_an_issuers_keys_come_from_a_file_or_an_address(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_bytes(b'{"keys":[]}')

    async def respond(_: object) -> Answer:
        return Answer(pieces=whole(b'{"keys":[1]}'))

    async with Loopback(respond) as server:
        assert [await source(str(file))(), await source(f"{server.url}/jwks")()] == [b'{"keys":[]}', b'{"keys":[1]}']


@pytest.mark.parametrize(
    ("status", "body"), [(500, b""), (302, b""), (200, b"x" * (FETCH_BYTES + 1)), (0, b"")]
)  # fmt: skip
async def test_an_address_that_does_not_answer_as_it_should_gives_no_keys(status: int, body: bytes) -> None:
    async def respond(_: object) -> Answer:
        return Answer(status=status, headers={"location": "/elsewhere"}, pieces=whole(body))

    async with Loopback(respond) as server:
        with pytest.raises((OSError, ValueError)):
            await source(f"{server.url}/jwks")()
    with pytest.raises((OSError, ValueError)):
        await source(f"{server.url}/jwks")()  # nobody listens there any more


def test_settings_say_who_is_let_in() -> None:
    """REQ-W4: in production nobody asks without a bound, and sessions can be off."""
    plain = admitted(Settings.read({}), StillClock())
    assert (plain.sessions, plain.keys, plain.web_tokens, plain.origins) == (True, True, None, frozenset())
    closed = admitted(
        Settings.read({"TURNKEEP_ADMIT": "key", "TURNKEEP_ORIGINS": "https://a.test,https://b.test"}), StillClock()
    )
    assert (closed.sessions, closed.keys, closed.origins) == (
        False,
        True,
        frozenset({"https://a.test", "https://b.test"}),
    )
    full = Settings.read({"TURNKEEP_JWKS": "/k", "TURNKEEP_JWT_ISSUER": "i", "TURNKEEP_JWT_AUDIENCE": "a"})
    assert admitted(full, StillClock()).web_tokens is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TURNKEEP_ADMIT", ""), ("TURNKEEP_ADMIT", "all"), ("TURNKEEP_ADMIT", "session,"), ("TURNKEEP_JWKS", "http://a.test/k"),
        ("TURNKEEP_JWT_ALGORITHMS", "HS256"), ("TURNKEEP_JWT_ALGORITHMS", "none"), ("TURNKEEP_ORIGINS", "*"),
        ("TURNKEEP_ORIGINS", "https://*.a.test"), ("TURNKEEP_ADDRESS_RATE", "0/minute"), ("TURNKEEP_OWNER_RATE", "many"),
    ],
)  # fmt: skip
def test_what_must_not_be_guessed_refuses_to_start(name: str, value: str) -> None:
    """REQ-V6"""
    with pytest.raises(RefusedSettings, match=name):
        Settings.read({name: value})


def test_an_issuer_without_a_name_or_an_audience_refuses_to_start() -> None:
    for given in ({"TURNKEEP_JWT_ISSUER": "i"}, {"TURNKEEP_JWT_AUDIENCE": "a"}, {}):
        with pytest.raises(RefusedSettings, match="TURNKEEP_JWKS"):
            admitted(Settings.read({"TURNKEEP_JWKS": "/k", **given}), StillClock())


def test_bounds_are_on_in_production_and_can_be_chosen() -> None:
    def bounds(**environment: str) -> tuple[str, str, int]:
        found = quota(Settings.read(environment))
        return str(found.address), str(found.owner), found.active

    assert bounds() == ("None", "None", 0)
    assert bounds(CHAT_ENV="production") == ("600 per 1 minute", "60 per 1 minute", 20)
    chosen = {"TURNKEEP_ADDRESS_RATE": "off", "TURNKEEP_OWNER_RATE": "5/hour", "TURNKEEP_OWNER_TURNS": "0"}
    assert bounds(CHAT_ENV="production", **chosen) == ("None", "5 per 1 hour", 0)
