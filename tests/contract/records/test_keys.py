"""API keys: found by prefix, held as hashes, revoked for good. And the bound on an owner's runs, which no race passes."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from records.records import Records
from records.values import ApiKey, Begun, Key, Known, TooMany
from tests.contract.records.values import ANA, completed, run_of, turn

KEY = ApiKey(
    prefix="abc", digest="d" * 64, name="shop", owner="shop", rights=frozenset({"read", "act_for"}), created_ms=1_000
)


async def test_a_key_is_found_as_it_was_kept(records: Records) -> None:
    other = replace(KEY, prefix="xyz", tier="gold", tenant="t", expires_ms=9_000, created_ms=2_000)

    assert (await records.add_key(KEY), await records.add_key(other)) == (True, True)

    assert (await records.key("abc"), await records.key("nope")) == (KEY, None)
    assert await records.keys() == (KEY, other)
    assert await records.add_key(replace(KEY, owner="eve")) is False
    assert await records.key("abc") == KEY


async def test_a_key_is_revoked_once_and_for_good(records: Records) -> None:
    await records.add_key(KEY)

    assert [await records.revoke_key("abc", now) for now in (5_000, 6_000)] == [True, True]
    assert await records.revoke_key("nope", 5_000) is False

    assert await records.key("abc") == replace(KEY, revoked_ms=5_000)


async def test_an_owner_has_so_many_runs_under_way_and_no_more(records: Records) -> None:
    """REQ-Q8: a repeat of one that is there is none more, and one that ended makes room."""
    key = Key(owner="ana", conversation_id="c2")
    two = [replace(turn("r1"), most_active=2), replace(turn("r2", key), most_active=2)]
    third = replace(turn("r3", Key(owner="ana", conversation_id="c3")), most_active=2)
    others = replace(turn("r4", Key(owner="ben", conversation_id="c4")), most_active=2)

    assert [await records.begin(one) for one in (*two, third)] == [Begun(1), Begun(1), TooMany()]
    assert await records.begin(two[0]) == Known(run_of(two[0], 1))
    assert await records.begin(others) == Begun(1)
    await records.settle("r1", completed("r1"))
    assert await records.begin(third) == Begun(1)
    assert await records.conversation(ANA) is not None


async def test_no_race_passes_the_bound(opened: Callable[[], Records]) -> None:
    """FR62: every beginning has connections of its own, as in so many processes."""
    wanted = [replace(turn(f"r{n}", Key(owner="ana", conversation_id=f"c{n}")), most_active=3) for n in range(12)]

    results = await asyncio.gather(*(opened().begin(one) for one in wanted))

    assert Counter(type(result) for result in results) == {Begun: 3, TooMany: 9}
