"""`python -m app erase`, and what every process does by itself, over real parts."""

from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app.commands.erase import configure, erase, owner_of
from dispatch.erasure import STUCK_MS, UNUSED_FILE_MS, Erasure
from protocol.errors import TurnkeepError
from records.files import Upload
from records.values import Key
from tests.rig import RUN_ID, Rig
from tests.two_runs import SCRIPT, two_runs

TALK = Key(owner="ada", conversation_id="talk")


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with two_runs() as made:
        yield made


def rounds(rig: Rig, after_ms: int) -> Erasure:
    return Erasure(rig.records, rig.store, rig.clock, after_ms=after_ms, kept_ms=86_400_000)


async def kept(rig: Rig, owner: str) -> str:
    content = f"of {owner}".encode()
    upload = Upload(tenant="", owner=owner, media_type="text/plain", name="a", content=content, now_ms=rig.clock.now)
    return (await rig.records.files.keep(upload, 99))[0].id


async def test_an_owner_is_erased_and_nobody_else(rig: Rig) -> None:
    """REQ-O8, FR34: all his data, with a run under way and a file that no message came to attach."""
    his, hers = await kept(rig, "ada"), await kept(rig, "eve")

    assert await erase(rig.records, rig.store, ("", "ada"), after_ms=0, kept_ms=10**15) == 2

    assert await rig.records.conversations("", "ada") == ()
    assert [await rig.store.view(run_id) for run_id in (RUN_ID, "second")] == [None, None]
    assert await rig.records.history("", "talk", 9, None) == ()
    assert [run and run.status for run in [await rig.records.run("second")]] == ["stopped"]
    assert await rig.records.files.content("", "ada", his) is None
    assert await rig.records.files.content("", "eve", hers) is not None
    assert await erase(rig.records, rig.store, ("", "ada"), after_ms=0, kept_ms=10**15) == 0


async def test_the_same_owner_of_another_tenant_is_somebody_else(rig: Rig) -> None:
    """REQ-O8, LAW-P5"""
    there = replace(TALK, tenant="acme")
    assert await rig.records.create(there, "Theirs", rig.clock.now)

    assert await erase(rig.records, rig.store, ("acme", "ada"), after_ms=0, kept_ms=10**15) == 1

    assert await rig.records.conversation(there) is None
    assert [one.id for one in await rig.records.conversations("", "ada")] == ["other", "talk"]


@pytest.mark.parametrize(
    ("words", "owner"),
    [
        ("", None),
        ("--owner ada", ("here", "ada")),  # where sessions live, and keys that name no other place
        ("--owner ada --tenant acme", ("acme", "ada")),
        ("--owner ada --tenant=", ("", "ada")),
    ],
)
def test_an_owner_is_named_with_his_tenant(words: str, owner: tuple[str, str] | None) -> None:
    assert owner_of(asked(words), "here") == owner


def test_a_tenant_alone_erases_nothing() -> None:
    with pytest.raises(TurnkeepError, match="--owner"):
        owner_of(asked("--tenant acme"), "here")


def asked(words: str) -> Namespace:
    parser = ArgumentParser()
    configure(parser)
    return parser.parse_args(words.split())


async def test_what_was_deleted_is_erased_when_it_is_due(rig: Rig) -> None:
    await rig.records.delete(TALK, rig.clock.now)

    assert await rounds(rig, 1_000).round() == 0
    rig.clock.now += 1_000
    assert await rounds(rig, 1_000).round() == 1
    assert await rounds(rig, 1_000).round() == 0


async def test_a_run_in_a_deleted_conversation_is_ended_whenever_that_is_due(rig: Rig) -> None:
    """FR34: the process that deleted it died before it stopped it."""
    await rig.records.delete(replace(TALK, conversation_id="other"), rig.clock.now)
    daily = rounds(rig, 86_400_000)

    await daily.round()
    assert await rig.store.view("second") is not None  # whoever deleted it may be at it
    rig.clock.now += STUCK_MS
    assert await daily.round() == 0

    assert await rig.store.view("second") is None
    run = await rig.records.run("second")
    assert run is not None
    assert run.status == "stopped"
    after = await rig.run(SCRIPT, run_id="second", first=2)
    assert [result.outcome for result in after] == ["missing"]
    assert await rig.store.view("second") is None  # C5: not brought back


async def test_a_file_that_no_message_attached_goes_after_a_day(rig: Rig) -> None:
    """[U5]"""
    file_id = await kept(rig, "ada")

    rig.clock.now += UNUSED_FILE_MS
    await rounds(rig, 1_000).round()
    assert await rig.records.files.content("", "ada", file_id) is not None
    rig.clock.now += 1
    await rounds(rig, 1_000).round()
    assert await rig.records.files.content("", "ada", file_id) is None
