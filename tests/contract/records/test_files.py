"""The laws of files, over every database."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from protocol.errors import TurnkeepError
from records.files import File, Upload
from records.records import Records
from records.values import Begun, NotFound
from tests.contract.records.values import ANA, BEN, completed, delete, erase, turn

ROOM = 1_000
PICTURE = Upload(tenant="", owner="ana", media_type="image/png", name="a.png", content=b"picture", now_ms=1_000)
OTHER = replace(ANA, conversation_id="c2")


async def kept(records: Records, upload: Upload = PICTURE) -> str:
    return (await records.files.keep(upload, ROOM))[0].id


async def there(records: Records, file_id: str) -> bool:
    """Whether the file is there, seen to be so of what is known of it and of its bytes alike."""
    found = await records.files.find("", "ana", [file_id])
    content = await records.files.content("", "ana", file_id)
    assert (file_id in found) is (content is not None)
    return content is not None


async def test_a_file_is_kept_once_an_owner(records: Records) -> None:
    """K1: by its content. The name it came with first stays."""
    file, new = await records.files.keep(PICTURE, len(PICTURE.content))
    assert (file, new) == (File(id=PICTURE.id, media_type="image/png", name="a.png", size=7), True)

    assert await records.files.keep(replace(PICTURE, name="b.png"), len(PICTURE.content)) == (file, False)
    his, new = await records.files.keep(replace(PICTURE, owner="ben"), ROOM)
    elsewhere, _ = await records.files.keep(replace(PICTURE, tenant="other"), ROOM)

    assert new
    assert len({file.id, his.id, elsewhere.id}) == 3
    assert await records.files.find("", "ana", [file.id, his.id, elsewhere.id]) == {file.id: file}


async def test_the_bytes_come_back_as_they_were(records: Records) -> None:
    every_byte = bytes(range(256)) * 1_000
    file, _ = await records.files.keep(replace(PICTURE, content=every_byte), len(every_byte))

    assert await records.files.content("", "ana", file.id) == every_byte


async def test_an_owner_has_so_much_room_and_no_more(records: Records) -> None:
    """K2."""
    await kept(records)

    with pytest.raises(TurnkeepError) as refused:
        await records.files.keep(replace(PICTURE, content=b"another"), 13)
    assert (refused.value.kind, refused.value.details) == ("too_large", {"code": "quota"})
    assert await records.files.keep(replace(PICTURE, content=b"another"), 14)
    assert await records.files.keep(replace(PICTURE, owner="ben"), 13)


async def test_of_two_that_fit_one_by_one_only_one_is_kept(opened: Callable[[], Records]) -> None:
    """K2: though they come at once, by different processes."""

    async def keep(records: Records, content: bytes) -> bool:
        try:
            return (await records.files.keep(replace(PICTURE, content=content), 10))[1]
        except TurnkeepError:
            return False

    assert sorted(await asyncio.gather(*(keep(opened(), b"seven %d" % at) for at in range(4)))) == [False] * 3 + [True]


async def test_files_are_their_owners_alone(records: Records) -> None:
    """K3, LAW-P5."""
    file_id = await kept(records)

    assert await records.files.content("", "ben", file_id) is None
    assert await records.files.content("other", "ana", file_id) is None
    assert await records.files.content("", "ana", "file_unknown") is None
    assert await records.files.find("", "ben", [file_id]) == {}
    assert await records.begin(replace(turn("r1", BEN), files=(file_id,))) == NotFound()
    assert await records.begin(replace(turn("r1"), files=("file_unknown",))) == NotFound()
    assert await records.run("r1") is None


async def test_a_file_goes_with_the_last_conversation_that_uses_it(records: Records) -> None:
    """K4: used twice in one and once in another."""
    file_id = await kept(records)
    for number, key in enumerate((ANA, ANA, OTHER), 1):
        assert isinstance(await records.begin(replace(turn(f"r{number}", key), files=(file_id, file_id))), Begun)
        await records.settle(f"r{number}", completed(f"r{number}"))

    await delete(records, ANA)
    assert await there(records, file_id)
    await erase(records, OTHER)
    assert not await there(records, file_id)


async def test_what_nobody_uses_goes_after_a_while(records: Records) -> None:
    """K5, [U5]: counted from its last upload; a file in use stays however old."""
    unused, used = await kept(records), await kept(records, replace(PICTURE, content=b"in use"))
    await records.begin(replace(turn("r1"), files=(used,)))

    assert await records.files.sweep(1_000) == 0
    await kept(records, replace(PICTURE, now_ms=2_000))
    assert await records.files.sweep(2_000) == 0
    assert await records.files.sweep(2_001) == 1

    assert not await there(records, unused)
    assert await there(records, used)


async def test_a_file_that_comes_into_use_while_it_is_swept_stays_or_is_refused(opened: Callable[[], Records]) -> None:
    """K4, K5: a message never points to a file that is gone."""
    records, sweeper = opened(), opened()
    for at in range(20):
        key = replace(ANA, conversation_id=f"c{at}")
        file_id = await kept(records, replace(PICTURE, content=b"content %d" % at))
        begun, _ = await asyncio.gather(
            records.begin(replace(turn(f"r{at}", key), files=(file_id,))), sweeper.files.sweep(5_000)
        )
        assert await there(records, file_id) is isinstance(begun, Begun)
