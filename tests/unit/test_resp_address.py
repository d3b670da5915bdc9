import pytest

from resp.address import Address, parse_address
from resp.client import FIRST_PAUSE, LONGEST_PAUSE, no_jitter, pause_after
from resp.keys import Keys


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("redis://localhost", Address(host="localhost")),
        ("redis://cache.internal:6380/3", Address(host="cache.internal", port=6380, database=3)),
        ("redis://[::1]:6380", Address(host="::1", port=6380)),
        ("redis://localhost?db=2", Address(host="localhost", database=2)),
        ("rediss://:s%40cret@h/0", Address(host="h", tls=True, password="s@cret")),
        ("rediss://app:secret@h", Address(host="h", tls=True, username="app", password="secret")),
        ("unix:///run/valkey.sock", Address(path="/run/valkey.sock")),
        ("unix://app:secret@/run/a%20b?db=1", Address(path="/run/a b", username="app", password="secret", database=1)),
    ],
)
def test_an_address_is_read(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost",
        "localhost:6379",
        "http://h",
        "redis://",
        "redis://h/one",
        "redis://h:port",
        "unix://",
        "unix:///s?db=x",
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not an address of a Redis server$"):
        parse_address(text)


def test_an_address_does_not_show_its_password() -> None:
    assert "secret" not in repr(parse_address("redis://:secret@h"))


def test_pauses_grow_to_a_bound_and_jitter_shortens_them() -> None:
    pauses = [pause_after(failures, no_jitter) for failures in (0, 1, 2, 10, 10_000)]

    assert pauses == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]
    assert pause_after(0, lambda: 0.0) == FIRST_PAUSE / 2


def test_all_keys_of_a_run_share_its_hash_tag() -> None:
    keys = Keys("test:")
    names = [keys.meta, keys.request, keys.log, keys.deltas, keys.ledger, keys.seal, keys.live, keys.stopped]

    assert [name("r").partition("}")[0] for name in names] == ["test:{r"] * 8
    assert len({name("r") for name in names}) == 8
    assert Keys().switch == "turnkeep:workflow-dispatch:chat"
